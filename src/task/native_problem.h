// Problems in FlashInfer-Bench's form on disk: our native folders, single definitions, and whole
// data sets.
#pragma once
#include <filesystem>

#include "base/result.h"
#include "task/problem.h"

namespace kw::task {

// The file of a problem folder's workloads, whether it is there or not: workload.jsonl
// (SOL-ExecBench's) where that is, else workloads.jsonl.
std::filesystem::path workloads_in(const std::filesystem::path& folder);

// folder/{definition.json, workloads.jsonl, policy.toml}; the policy may be missing.
Result<Problem> problem_from_folder(const std::filesystem::path& folder);

// A definition whose workloads are in workloads/<op>/<name>.jsonl, workloads/<name>.jsonl or
// workloads.jsonl of its folder or one of the three above it, which becomes the problem's root.
// NAME.policy.toml beside the definition is read.
Result<Problem> problem_from_definition(const std::filesystem::path& file);

// Whether a row of a data set is a definition with its workloads.
bool is_definition_row(const Json& row);
// SOL-ExecBench's rows: the keys of a definition and `workloads` as columns, whose objects and
// lists may be JSON in a string; other columns are ignored. file: where the row is from, whose
// folder is the root of safetensors paths.
Result<Problem> problem_from_row(const Json& row, const std::filesystem::path& file);

}  // namespace kw::task
