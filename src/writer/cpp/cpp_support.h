// The helper functions of generated C++ files.
#pragma once
#include <set>
#include <string>

namespace kw::writer {

// Declarations and definitions of these functions (ScalarText::functions()), for the top of a file.
std::string support_text(const std::set<std::string>& functions);

}  // namespace kw::writer
