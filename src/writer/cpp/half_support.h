// Conversions of 16-bit floating types that generated sources contain.
#pragma once
#include <map>
#include <string>

namespace kw::writer {

// kw_float16 and kw_bfloat16: one element from and to its bits; kw_lines_of_float16, behind
// kw_float16: many that lie side by side.
const std::map<std::string, std::string>& half_functions();

}  // namespace kw::writer
