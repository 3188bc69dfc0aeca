// The result of a problem as solve prints it: a card for people, a row for programs.
#pragma once
#include <filesystem>
#include <string>

#include "base/json.h"
#include "kernelwright/solve/problems.h"
#include "runlog/run_folder.h"

namespace kw::front {

// docs/schemas/solve.schema.json
Json solve_row(const std::filesystem::path& run, const runlog::ProblemTree& tree);
Json solve_row(const std::filesystem::path& run, const Unread& unread);

// A few lines: what came out, its evidence, the next step. baseline: "eager".
std::string solve_card(const std::filesystem::path& run, const runlog::Run& of,
                       const runlog::ProblemTree& tree, const std::string& baseline);
std::string solve_card(const Unread& unread);
std::string solve_summary(const std::filesystem::path& run, const runlog::Run& of,
                          const std::string& baseline, std::size_t unread);

}  // namespace kw::front
