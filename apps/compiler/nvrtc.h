// The command "nvrtc" of a build: CUDA C++ to a cubin inside the compiler's process.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::compiler {

// words: "nvrtc", NVRTC's options, "-o", the cubin's path, the source's path; both beneath the
// current folder. Messages go to stderr. Runs in a process of its own, as other commands do: the
// exit code (1: the source is at fault, 2: no NVRTC), or the signal's number negated.
Result<int> run_nvrtc_command(const std::vector<std::string>& words);

// Loads NVRTC into this process and compiles a kernel of ours, so that commands, which are forked,
// find it loaded. Without NVRTC nothing happens.
void warm_nvrtc();

}  // namespace kw::compiler
