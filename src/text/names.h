// What may be a name: of tensors and axes (they become C++ and Python parameters), of problems and
// candidates (they become parts of file names and of terminal output), and of files inside a
// solution.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::text {

bool is_identifier(std::string_view name);  // [A-Za-z_][A-Za-z0-9_]*, at most 128 characters

bool is_python_keyword(std::string_view name);

// kInvalidArgument "where: reason" unless the name can be a parameter in C++ and in Python (no
// keyword of either, not kw_..., which generated code uses).
Status check_parameter_name(std::string_view name, const std::string& where);

// Not empty, at most 256 bytes, UTF-8, no control characters, no "/" or "\", not "." or "..".
Status check_title(std::string_view name, const std::string& where);

// Relative, no empty, "." or ".." part, no backslash, UTF-8 without control characters, at most 256
// bytes.
Status check_relative_path(std::string_view path, const std::string& where);

// The path of a field below another, for messages: "axes.N", or just "N" at the top.
std::string below(const std::string& where, std::string_view key);

// " (did you mean \"x\"?)" or "".
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace kw::text
