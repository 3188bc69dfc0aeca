// Rivals: other forms of the reference than the baseline (as it is, under torch.compile, tuned),
// measured beside that baseline on the same workload. The fastest is what a candidate has to beat.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gym/compilation.h"
#include "gym/eval_options.h"
#include "gym/messages/workload_report.h"

namespace kw::gym {

// The rivals to measure by these options: those asked for, but for the baseline itself.
std::vector<Compilation> rivals_of(const EvalOptions& options);

// Whether the report's whole interval lies above 1. Nobody else needs a stronger rival.
bool is_faster_than_baseline(const WorkloadReport& report);

// The report on a rival that was judged as a candidate.
RivalReport rival_report(Compilation rival, const WorkloadReport& judged);

// Those of one workload, each measured once. Not thread-safe.
class KnownRivals {
 public:
  // measure(rival) is called for a rival that is not known yet. One whose measurement was disturbed
  // stays unknown.
  Result<RivalReport> find(Compilation rival,
                           const std::function<Result<WorkloadReport>(Compilation)>& measure);

 private:
  std::vector<RivalReport> known_;
};

}  // namespace kw::gym
