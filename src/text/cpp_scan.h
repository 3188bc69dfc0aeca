// Finds the definitions of functions in C++ source: a tokeniser for comments, literals and
// brackets, without a preprocessor.
#pragma once
#include <string_view>

namespace kw::text {

// Whether C++ source defines a function prepare(...) at namespace scope (global or inside
// extern "C" braces), outside comments and literals. The preprocessor is not run.
bool defines_prepare(std::string_view source);
// The same of a function of any name.
bool defines_function(std::string_view source, std::string_view name);

}  // namespace kw::text
