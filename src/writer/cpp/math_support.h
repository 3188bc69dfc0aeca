// Elementary functions of generated C++ files that are our own, for float32.
#pragma once
#include <map>
#include <string>

namespace kw::writer {

// Definitions by name: kw_exp, kw_erf (which calls it), kw_erfinv.
const std::map<std::string, std::string>& math_functions();

}  // namespace kw::writer
