#include "search/summary.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace kw::search {
namespace {

using task::Progress;

// The worst output of the worst workload; none where it is not finite.
std::optional<double> error_of(const task::Verdict& verdict) {
  double worst = 0;
  for (const task::WorkloadVerdict& workload : verdict.workloads) {
    for (const task::OutputError& error : workload.errors) {
      if (!std::isfinite(error.max_of_budget)) return std::nullopt;
      worst = std::max(worst, error.max_of_budget);
    }
  }
  return worst;
}

}  // namespace

runlog::Judged summary_of(const task::Verdict& verdict) {
  runlog::Judged out;
  out.outcome = verdict.outcome;
  out.violation = verdict.violation;
  out.progress = task::progress_of(verdict);
  if (out.progress == Progress::kRightShape) out.error = error_of(verdict);
  if (out.progress == Progress::kCorrect) out.speedup = verdict.speedup;
  return out;
}

}  // namespace kw::search
