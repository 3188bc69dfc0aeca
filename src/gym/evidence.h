// Evidence: everything a verdict was made from, as JSON (docs/formats/evidence.md). The verdict is
// a function of it and of nothing else, so judging and re-judging cannot differ.
#pragma once
#include <filesystem>

#include "base/json.h"
#include "base/result.h"
#include "gym/gym.h"
#include "task/verdict.h"

namespace kw::gym {

inline constexpr int kEvidenceSchema = 1;

// The part that identifies what was judged.
Json evidence_header(const EvalRequest& request);

// kInvalidArgument names the field that is missing or malformed.
Result<task::Verdict> verdict_from_evidence(const Json& evidence);

// Stores the bundle under its content hash; returns the path. With `digest` inside, a changed file
// is kDataLoss when read.
Result<std::filesystem::path> store_evidence(const std::filesystem::path& folder,
                                             const Json& evidence);
Result<Json> load_evidence(const std::filesystem::path& path);

}  // namespace kw::gym
