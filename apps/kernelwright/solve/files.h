// The files of a problem's best kernel in the run's folder: solutions/PROBLEM/kernel.cpp (or .py),
// solution.json, and for modules model_new.py.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "runlog/run_folder.h"
#include "search/solver.h"

namespace kw::front {

// The folder of a problem's files below the run's. Other keys have other folders.
std::filesystem::path solution_folder(const std::filesystem::path& run, const std::string& key);

// It writes nothing for a problem without a correct kernel. An error is a file that could not be
// written.
Status write_solution(const runlog::RunFolder& folder, const search::SearchProblem& problem,
                      const task::Signature* signature, const runlog::ProblemTree& tree,
                      const std::vector<std::string>& build_flags);

}  // namespace kw::front
