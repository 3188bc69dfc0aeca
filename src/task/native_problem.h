// Problems in FlashInfer-Bench's form on disk: our native folders, single definitions, and whole
// data sets.
#pragma once
#include <filesystem>

#include "base/result.h"
#include "task/problem.h"

namespace kw::task {

// folder/{definition.json, workloads.jsonl, policy.toml}; the policy may be missing.
Result<Problem> problem_from_folder(const std::filesystem::path& folder);

// A definition whose workloads are in workloads/<op>/<name>.jsonl, workloads/<name>.jsonl or
// workloads.jsonl of its folder or one of the three above it, which becomes the problem's root.
// NAME.policy.toml beside the definition is read.
Result<Problem> problem_from_definition(const std::filesystem::path& file);

}  // namespace kw::task
