// TritonToolchain: which Triton compiles and interprets candidates here.
#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"

namespace kw::gym {

struct TritonToolchain {
  std::string version;  // "3.7.1"
  // SHA-256 over the versions of Triton, torch and Python, size and time of libtriton and ptxas,
  // and the content of our own Python beside them: it names kernels and launches them.
  std::string identity;
};

// Asks the interpreter, without importing Triton (50 ms). support: python/triton_support.
// kUnsupported where it is not installed.
Result<TritonToolchain> resolve_triton(const std::filesystem::path& python,
                                       const std::filesystem::path& support);

}  // namespace kw::gym
