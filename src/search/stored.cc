#include "search/stored.h"

#include "runlog/candidate_text.h"

namespace kw::search {

Result<task::Candidate> stored_candidate(const runlog::RunFolder& folder,
                                         const runlog::Attempt& attempt) {
  KW_TRY(std::string text, folder.get(attempt.extracted->candidate));
  return runlog::candidate_from_text(text);
}

Result<task::Verdict> stored_verdict(const runlog::RunFolder& folder,
                                     const runlog::Attempt& attempt) {
  KW_TRY(std::string text, folder.get(attempt.judged->verdict));
  KW_TRY(Json value, parse_json(text));
  return task::verdict_from_json(value, "verdict");
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
