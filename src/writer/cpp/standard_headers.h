// Which headers of the standard library a text needs: with all that any kernel needs, reading them
// is half of what a small kernel takes to compile.
#pragma once
#include <string>
#include <string_view>

namespace kw::writer {

// A line "#include <...>" for each, in alphabetical order. code: without includes, names of the
// library qualified by std:: (but for those of <cstdint> and mem... of <cstring>). A name that is
// of none of the headers known here is a function of <cmath>.
std::string standard_includes(std::string_view code);

}  // namespace kw::writer
