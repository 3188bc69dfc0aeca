#include "gym/evaluation/rivals.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "gym/measure/sequential_interval.h"

namespace kw::gym {
namespace {

constexpr std::size_t kMaxFailure = 500;

}  // namespace

std::vector<Compilation> rivals_of(const EvalOptions& options) {
  const auto baseline = compilation_of(options.baseline);
  std::vector<Compilation> out;
  for (const std::string& name : options.rivals) {
    const auto rival = compilation_from_string(name);
    if (rival && rival != baseline && std::ranges::find(out, *rival) == out.end())
      out.push_back(*rival);
  }
  return out;
}

bool is_faster_than_baseline(const WorkloadReport& report) {
  if (!report.has_passed() || report.candidate_ns.empty()) return false;
  std::vector<std::size_t> pairs;
  for (const std::int64_t samples : report.pair_samples)
    pairs.push_back(static_cast<std::size_t>(samples));
  return interval_of_samples(report.candidate_ns, report.reference_ns, pairs).low > 1;
}

RivalReport rival_report(Compilation rival, const WorkloadReport& judged) {
  RivalReport out;
  out.baseline = to_string(rival);
  out.rival_ns = judged.candidate_ns;
  out.reference_ns = judged.reference_ns;
  out.pair_samples = judged.pair_samples;
  if (judged.has_passed() && !judged.candidate_ns.empty()) return out;
  out.failure = judged.has_passed() ? "no time" : std::string(task::to_string(judged.outcome));
  if (!judged.diagnostics.empty()) out.failure += ": " + judged.diagnostics.front().message;
  if (!trim(judged.log).empty()) out.failure += "\n" + std::string(trim(judged.log));
  out.failure = printable(out.failure, kMaxFailure);
  return out;
}

Result<RivalReport> KnownRivals::find(
    Compilation rival, const std::function<Result<WorkloadReport>(Compilation)>& measure) {
  const auto known =
      std::ranges::find(known_, to_string(rival),
                        [](const RivalReport& r) -> std::string_view { return r.baseline; });
  if (known != known_.end()) return *known;
  KW_TRY(const WorkloadReport judged, measure(rival));
  RivalReport report = rival_report(rival, judged);
  if (judged.outcome != task::Outcome::kNoisy) known_.push_back(report);
  return report;
}

}  // namespace kw::gym
