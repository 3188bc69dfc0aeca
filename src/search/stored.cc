#include "search/stored.h"

#include "runlog/stored.h"

namespace kw::search {

Result<task::Candidate> stored_candidate(const runlog::RunFolder& folder,
                                         const runlog::Attempt& attempt) {
  return runlog::stored_candidate(folder.path(), attempt.extracted->candidate);
}

Result<task::Verdict> stored_verdict(const runlog::RunFolder& folder,
                                     const runlog::Attempt& attempt) {
  return runlog::stored_verdict(folder.path(), attempt.judged->verdict);
}

Result<std::optional<prompt::BestSoFar>> best_so_far(const runlog::RunFolder& folder,
                                                     const runlog::ProblemTree& tree,
                                                     std::size_t visible) {
  std::optional<prompt::BestSoFar> out;
  const runlog::Attempt* best = tree.best(visible);
  if (best == nullptr || !best->judged->speedup) return out;
  KW_TRY(task::Verdict verdict, stored_verdict(folder, *best));
  out = {*best->judged->speedup, verdict.times ? verdict.times->candidate_ms : 0};
  return out;
}

}  // namespace kw::search
