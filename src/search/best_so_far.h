// The fastest kernel of a search so far, as a prompt shows it.
#pragma once
#include <optional>

#include "base/result.h"
#include "prompt/feedback.h"
#include "runlog/run_folder.h"
#include "runlog/tree.h"

namespace kw::search {

// The fastest of the first `visible` attempts; none where none has a time.
Result<std::optional<prompt::BestSoFar>> best_so_far(const runlog::RunFolder& folder,
                                                     const runlog::ProblemTree& tree,
                                                     std::size_t visible);

}  // namespace kw::search
