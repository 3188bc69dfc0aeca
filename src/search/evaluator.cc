#include "search/evaluator.h"

#include "runlog/run_folder.h"

namespace kw::search {

RecordedEvaluator::RecordedEvaluator(std::filesystem::path folder, const runlog::Run& run,
                                     Evaluator& inner)
    : folder_(std::move(folder)), inner_(inner) {
  for (const runlog::ProblemTree& tree : run.problems) {
    for (const runlog::Attempt& attempt : tree.attempts) {
      if (attempt.judged && attempt.extracted)
        verdicts_.emplace(std::pair(tree.hash, attempt.extracted->candidate_hash),
                          attempt.judged->verdict);
    }
  }
}

Result<task::Verdict> RecordedEvaluator::judge(gym::EvalRequest request, std::stop_token stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  auto found = verdicts_.find({request.problem.hash, request.candidate.hash});
  if (found == verdicts_.end())
    return fail(ErrorCode::kNotFound, "{} has no verdict on {} of {}", folder_.string(),
                request.candidate.name, request.problem.name);
  KW_TRY(std::string text, runlog::RunFolder::get(folder_, found->second));
  KW_TRY(Json value, parse_json(text));
  return task::verdict_from_json(value, "verdict");
}

Result<task::Signature> RecordedEvaluator::describe(const task::Problem& problem,
                                                    const std::string& target) {
  return inner_.describe(problem, target);
}

}  // namespace kw::search
