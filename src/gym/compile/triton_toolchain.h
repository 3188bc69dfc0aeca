// TritonToolchain: which Triton compiles and interprets candidates here.
#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"

namespace kw::gym {

struct TritonToolchain {
  std::string version;   // "3.7.1"
  std::string identity;  // SHA-256 over the versions of Triton, torch and Python, and size and time
                         // of libtriton and ptxas
};

// Asks the interpreter, without importing Triton (50 ms). kUnsupported where it is not installed.
Result<TritonToolchain> resolve_triton(const std::filesystem::path& python);

}  // namespace kw::gym
