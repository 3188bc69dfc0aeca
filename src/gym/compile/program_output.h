// What a trusted program prints: for asking a tool chain about itself.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::gym {

// stdout and stderr of words[0] (an absolute path), at most 1 MiB, run with a fixed environment.
// kUnsupported when it fails, with the beginning of what it said.
Result<std::string> program_output(std::vector<std::string> words);

}  // namespace kw::gym
