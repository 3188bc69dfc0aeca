// The headers of the standard library that a text needs: with all that any kernel needs, reading
// them is half of what a small kernel takes to compile.
#pragma once
#include <string>
#include <string_view>

namespace kw::writer {

// Returns a line "#include <...>" for each header, in alphabetical order. `code` has no includes,
// and qualifies the library's names by std::, except for <cstdint> and mem... of <cstring>. A name
// that no known header declares is taken for a function of <cmath>.
std::string standard_includes(std::string_view code);

}  // namespace kw::writer
