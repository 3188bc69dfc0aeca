// The versions of what Python candidates and references run on.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kw::gym {

struct PythonPackages {
  // Versions; empty: not installed, or Python does not answer.
  std::string python, torch, triton;
};

// The command that asks the interpreter for them, by the packages' metadata, without importing
// them (50 ms), and what its answer says.
std::vector<std::string> python_packages_command(const std::string& python);
PythonPackages python_packages_in(std::string_view answer);

// Runs that command. Nothing for an empty path.
PythonPackages python_packages(const std::filesystem::path& python);

}  // namespace kw::gym
