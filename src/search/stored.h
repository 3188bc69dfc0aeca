// What the blobs of a run hold of an attempt.
#pragma once
#include <optional>

#include "base/result.h"
#include "prompt/feedback.h"
#include "runlog/run_folder.h"
#include "runlog/tree.h"
#include "task/candidate.h"
#include "task/verdict.h"

namespace kw::search {

// Of an attempt with code.
Result<task::Candidate> stored_candidate(const runlog::RunFolder& folder,
                                         const runlog::Attempt& attempt);
// Of an attempt with a verdict.
Result<task::Verdict> stored_verdict(const runlog::RunFolder& folder,
                                     const runlog::Attempt& attempt);
// The fastest of the first `visible` attempts; none where none has a time.
Result<std::optional<prompt::BestSoFar>> best_so_far(const runlog::RunFolder& folder,
                                                     const runlog::ProblemTree& tree,
                                                     std::size_t visible);

}  // namespace kw::search
