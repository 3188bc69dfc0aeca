// --set NAME=VALUE: replaces module-level constants of a KernelBench problem, whose published sizes
// need a large GPU.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::task {

// Names with canonical Python literals (repr), sorted by name, each once.
using Settings = std::vector<std::pair<std::string, std::string>>;

// From the words after --set. kInvalidArgument for a word without "=", a value that is no literal,
// a name given twice with different values.
Result<Settings> parse_settings(const std::vector<std::string>& words);

// The source with the right-hand side of every module-level assignment to a set name replaced, so
// that constants derived from it follow. kInvalidArgument lists the constants that exist when a
// name is none of them, and for a constant that is also changed by an augmented assignment.
Result<std::string> apply_settings(std::string_view source, const Settings& settings);

}  // namespace kw::task
