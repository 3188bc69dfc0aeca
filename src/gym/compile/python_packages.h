// The versions of what Python candidates and references run on.
#pragma once
#include <filesystem>
#include <string>

namespace kw::gym {

struct PythonPackages {
  std::string torch, triton;  // versions; empty: not installed, or Python does not answer
};

// Asks the interpreter for the packages' metadata, without importing them (50 ms).
PythonPackages python_packages(const std::filesystem::path& python);

}  // namespace kw::gym
