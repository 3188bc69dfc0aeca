// What the gym found out about one answer, as far as rewards need it.
#pragma once
#include <optional>

#include "task/progress.h"
#include "task/verdict.h"

namespace kw::reward {

struct Finding {
  task::Progress progress = task::Progress::kNothing;
  // None: there was no code to judge.
  std::optional<task::Outcome> outcome;
  std::optional<task::Speedup> speedup;    // of correct answers that were timed
  std::optional<task::Clock> clock;        // of the speedup
  std::optional<task::Coverage> coverage;  // none on a CPU
  bool truncated = false;                  // the answer ended at its token limit
  bool borderline = false;  // it passes with an error near its budget: paid as a wrong value

  // Only a strict pass: the verdict's own checks, never those of other benchmarks.
  bool correct() const { return outcome == task::Outcome::kPassed && !borderline; }
  bool violation() const { return outcome == task::Outcome::kViolation; }
  // False when the problem, the machine or the gym is at fault: such an answer gets no reward, and
  // must not get 0 either.
  bool judged() const {
    return !outcome || task::is_candidates_fault(*outcome) || outcome == task::Outcome::kPassed;
  }
};

// The verdict's outcome decides how far it came; where the worst of several workloads is a crash,
// that one's. A broken rule is worth no more than code that does not compile.
Finding finding_of(const task::Verdict& verdict);
Finding no_code(bool truncated);

}  // namespace kw::reward
