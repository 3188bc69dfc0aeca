// Modules: KernelBench problem files and data set rows, KernelBook rows.
// docs/formats/kernelbench.md.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/problem.h"
#include "task/settings.h"

namespace kw::task {

// Checks that the source defines the entry class, get_inputs and get_init_inputs at top level;
// applies the settings to it.
Result<Module> make_module(std::string_view source, const std::string& entry_point,
                           const Settings& settings);

// One workload with uuid "module", the default policy, and the hash.
Problem module_problem(std::string name, Module module, std::string origin);

// A problem file; level and number from ".../level1/19_ReLU.py". A policy beside it,
// 19_ReLU.policy.toml, is read.
Result<Problem> module_from_file(const std::filesystem::path& path, const Settings& settings);

// A row with the columns code, level, name, problem_id (KernelBench) or python_code, entry_point
// (KernelBook, whose uuid joins the name); other columns are ignored. origin: for messages.
Result<Problem> module_from_row(const Json& row, const std::string& origin,
                                const Settings& settings);

// Whether a row is what KEY names: its name, "LEVEL/ID", or for KernelBook its entry point or uuid.
// Ill-formed rows are not.
bool row_matches(const Json& row, std::string_view key);

}  // namespace kw::task
