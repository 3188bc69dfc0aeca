// What may stand for PROBLEM: a path (with "#KEY"), or the name of a problem in the problems
// folder.
#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"
#include "kernelwright/services.h"
#include "task/problem.h"

namespace kw::front {

// ./problems if there is one, else the checkout's. kNotFound says where was looked.
Result<std::filesystem::path> problems_folder(const Services& services);

// What task::load_problems takes. A word without "/" that is no file names a folder of the problems
// folder; kNotFound with a suggestion.
Result<std::string> locate_problem(const Services& services, const std::string& argument);

// Reads one problem. set: words NAME=VALUE for the constants of KernelBench problems.
Result<task::Problem> read_problem(const Services& services, const std::string& argument,
                                   const std::vector<std::string>& set);

}  // namespace kw::front
