// Judging: the verdicts of one problem's attempts. The same code is judged once; what fails through
// no fault of its own is tried again, and given up after the last try.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "search/pools.h"
#include "search/retry_schedule.h"
#include "search/search_log.h"

namespace kw::search {

// Why the search of a problem ends.
struct Ending {
  runlog::End end = runlog::End::kAttempts;
  std::string reason;
};

// Only the solver's thread may use it.
class Judging {
 public:
  // Posts the work; seconds of pause before it.
  using Post = std::function<Status(int attempt, double pause)>;

  // log must outlive it. pauses: false where a failure does not pass with time.
  Judging(SearchLog& log, std::string problem, const RetrySchedule& retries, bool pauses, Post post)
      : log_(log),
        problem_(std::move(problem)),
        retries_(retries),
        pauses_(pauses),
        post_(std::move(post)) {}

  // An attempt with code and without a verdict: posted, or it gets the verdict of the same code.
  Status begin(int attempt);
  // Writes down the result of a posted judgement. Returns an ending where the result says that no
  // further attempt can be judged.
  Result<std::optional<Ending>> arrived(Judgement message);
  // The same when the run has been stopped: only settled results are kept.
  Status keep(const Judgement& message);

 private:
  Result<std::optional<Ending>> settle(int attempt, const task::Verdict& verdict, double wall_ms);
  Status copy(int attempt, int from);
  Status give_up(int attempt);
  const runlog::Attempt& attempt_of(int attempt) const;
  const std::string& hash_of(int attempt) const;  // hash of the attempt's code

  SearchLog& log_;
  const std::string problem_;
  const RetrySchedule retries_;
  const bool pauses_;
  const Post post_;
  std::map<int, int> tries_;  // since the start or resume, by attempt
  // For each hash the attempt in judgement, then those that wait for its verdict.
  std::map<std::string, std::vector<int>> same_;
};

}  // namespace kw::search
