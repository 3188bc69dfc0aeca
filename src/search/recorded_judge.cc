#include "search/recorded_judge.h"

#include "runlog/stored.h"

namespace kw::search {

RecordedJudge::RecordedJudge(std::filesystem::path folder, const runlog::Run& run,
                             gym::Judge& inner)
    : folder_(std::move(folder)), inner_(inner) {
  for (const runlog::ProblemTree& tree : run.problems) {
    for (const runlog::Attempt& attempt : tree.attempts) {
      if (attempt.judged && attempt.extracted)
        verdicts_.emplace(std::pair(tree.hash, attempt.extracted->candidate_hash),
                          attempt.judged->verdict);
    }
    for (const runlog::Failed& failed : tree.failures) {
      if (failed.again || failed.stage != runlog::kJudgeStage) continue;
      const runlog::Attempt& attempt = tree.attempts.at(static_cast<std::size_t>(failed.attempt));
      if (!attempt.abandoned || !attempt.extracted) continue;
      failures_.insert_or_assign(
          {tree.key, failed.attempt},
          Failure{attempt.extracted->candidate_hash, Error(failed.code, failed.message)});
    }
  }
}

Result<task::Verdict> RecordedJudge::judge(gym::EvalRequest request, std::stop_token stop) {
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  auto failed = failures_.find({request.trajectory, request.turn});
  if (failed != failures_.end() && failed->second.candidate_hash == request.candidate.hash)
    return tl::unexpected(failed->second.error);
  auto found = verdicts_.find({request.problem.hash, request.candidate.hash});
  if (found == verdicts_.end())
    return fail(ErrorCode::kNotFound, "{} has no verdict on {} of {}", folder_.string(),
                request.candidate.name, request.problem.name);
  return runlog::stored_verdict(folder_, found->second);
}

Result<task::Signature> RecordedJudge::describe(const task::Problem& problem, task::Target target) {
  return inner_.describe(problem, target);
}

}  // namespace kw::search
