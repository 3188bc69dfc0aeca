// The places of the programs, the Python leaves and the interpreter, and the cores for each
// process.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/gym.h"

namespace kw::gym {

struct Programs {
  std::filesystem::path launcher, checker, executor, compiler;
  std::filesystem::path gpu_executor;  // empty: not built
  std::filesystem::path arena_library, sandbox_leaf_library;
  std::filesystem::path python_folder;  // zygote.py, executor.py, oracle.py
  std::filesystem::path python;         // interpreter; empty: none found
};

// kNotFound naming the program that is missing. Paths are absolute and resolved (the interpreter's
// is not, a venv is known by its path).
Result<Programs> find_programs(const GymOptions& options);

}  // namespace kw::gym
