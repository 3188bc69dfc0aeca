#include "search/judging.h"

#include "base/present.h"
#include "base/text.h"
#include "runlog/stored.h"
#include "search/summary.h"

namespace kw::search {
namespace {

using runlog::End;

std::string first_diagnostic(const task::Verdict& verdict) {
  return verdict.diagnostics.empty() ? "" : printable(verdict.diagnostics[0].message, 400);
}

// The ending of a search whose verdict concerns the problem, not one candidate.
std::optional<Ending> ending_of(const task::Verdict& verdict) {
  if (verdict.outcome == task::Outcome::kQuarantined)
    return Ending{End::kQuarantined, first_diagnostic(verdict)};
  if (verdict.outcome == task::Outcome::kUnsupported)
    return Ending{End::kUnsupported, first_diagnostic(verdict)};
  return std::nullopt;
}

}  // namespace

const runlog::Attempt& Judging::attempt_of(int attempt) const {
  return log_.tree(problem_).attempts[static_cast<std::size_t>(attempt)];
}

const std::string& Judging::hash_of(int attempt) const {
  return present(attempt_of(attempt).extracted).candidate_hash;
}

Status Judging::begin(int attempt) {
  const std::string hash = hash_of(attempt);
  for (const runlog::Attempt& other : log_.tree(problem_).attempts) {
    if (other.judged && present(other.extracted).candidate_hash == hash)
      return copy(attempt, other.id);
  }
  std::vector<int>& same = same_[hash];
  same.push_back(attempt);
  return same.size() > 1 ? Status() : post_(attempt, 0);
}

Result<std::optional<Ending>> Judging::arrived(Judgement message) {
  const int tries = ++tries_[message.attempt];
  const bool more = retries_.more_after(tries);
  // A machine too busy to measure is no result; after the last try it is.
  if (message.result && message.result->outcome == task::Outcome::kNoisy && more)
    message.result = Result<task::Verdict>(
        tl::unexpected(Error(ErrorCode::kUnavailable, "noisy: no time could be measured")));
  if (message.result) return settle(message.attempt, *message.result, message.wall_ms);
  const Error& error = message.result.error();
  const bool again = may_retry(error.code()) && more;
  KW_TRY_STATUS(log_.record(runlog::Failed{problem_,
                                           message.attempt,
                                           std::string(runlog::kJudgeStage),
                                           tries,
                                           error.code(),
                                           error.message(),
                                           again,
                                           "",
                                           {}}));
  std::optional<Ending> ending;
  if (again) {
    KW_TRY_STATUS(
        post_(message.attempt, pauses_ ? retries_.pause(problem_, message.attempt, tries) : 0));
    return ending;
  }
  KW_TRY_STATUS(give_up(message.attempt));
  // An error that may not be retried concerns the problem, not this candidate alone: a reference
  // that does not run, say.
  if (!may_retry(error.code())) ending = Ending{End::kFailed, error.message()};
  return ending;
}

Status Judging::keep(const Judgement& message) {
  if (!message.result || message.result->outcome == task::Outcome::kNoisy) return {};
  KW_TRY(auto ending, settle(message.attempt, *message.result, message.wall_ms));
  static_cast<void>(ending);  // the verdict says it again
  return {};
}

Result<std::optional<Ending>> Judging::settle(int attempt, const task::Verdict& verdict,
                                              double wall_ms) {
  runlog::Judged event = summary_of(verdict);
  event.problem = problem_;
  event.attempt = attempt;
  event.wall_ms = wall_ms;
  KW_TRY(event.verdict, log_.folder().put(runlog::verdict_text(verdict)));
  KW_TRY_STATUS(log_.record(std::move(event)));
  auto found = same_.find(hash_of(attempt));
  const std::vector<int> same = std::move(found->second);
  same_.erase(found);
  for (int other : same) {
    if (other != attempt) KW_TRY_STATUS(copy(other, attempt));
  }
  return ending_of(verdict);
}

Status Judging::copy(int attempt, int from) {
  runlog::Judged event = present(attempt_of(from).judged);
  event.attempt = attempt;
  event.same_as = from;
  event.wall_ms = 0;
  return log_.record(std::move(event));
}

// The first of the attempts that waited for this verdict is judged in its place.
Status Judging::give_up(int attempt) {
  auto found = same_.find(hash_of(attempt));
  found->second.erase(found->second.begin());
  if (!found->second.empty()) return post_(found->second.front(), 0);
  same_.erase(found);
  return {};
}

}  // namespace kw::search
