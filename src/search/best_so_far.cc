#include "search/best_so_far.h"

#include "base/present.h"
#include "runlog/stored.h"

namespace kw::search {

Result<std::optional<prompt::BestSoFar>> best_so_far(const runlog::RunFolder& folder,
                                                     const runlog::ProblemTree& tree,
                                                     std::size_t visible) {
  std::optional<prompt::BestSoFar> out;
  const runlog::Attempt* best = tree.best(visible);
  if (best == nullptr) return out;
  const runlog::Judged& judged = present(best->judged);
  if (!judged.speedup) return out;
  KW_TRY(task::Verdict verdict, runlog::stored_verdict(folder.path(), judged.verdict));
  out = {*judged.speedup, verdict.times ? verdict.times->candidate_ms : 0};
  return out;
}

}  // namespace kw::search
