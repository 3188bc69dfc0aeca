// What rewards need of a verdict.
#include "reward/finding.h"

namespace kw::reward {

Finding finding_of(const task::Verdict& verdict) {
  Finding out;
  out.progress = verdict.outcome == task::Outcome::kViolation ? task::Progress::kExtracted
                                                              : task::progress_of(verdict);
  out.outcome = verdict.outcome;
  out.borderline = task::is_borderline(verdict);
  out.coverage = verdict.coverage;
  if (out.correct()) out.speedup = verdict.speedup;
  if (out.speedup) out.clock = verdict.clock;
  return out;
}

Finding no_code(bool truncated) {
  Finding out;
  out.truncated = truncated;
  return out;
}

}  // namespace kw::reward
