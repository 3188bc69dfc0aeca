// The output of a trusted program, for asking a tool chain about itself.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::gym {

// Returns stdout and stderr of words[0] (an absolute path), at most 1 MiB, run with a fixed
// environment. kUnsupported when the program fails, with the beginning of its output.
Result<std::string> program_output(std::vector<std::string> words);

}  // namespace kw::gym
