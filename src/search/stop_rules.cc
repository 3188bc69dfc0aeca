#include "search/stop_rules.h"

#include <algorithm>

#include "base/present.h"

namespace kw::search {
namespace {

constexpr double kOvertime = 1.25;

}  // namespace

std::optional<runlog::End> stop_rule(const Settings& settings, const runlog::ProblemTree& tree,
                                     std::size_t visible, double seconds) {
  using runlog::End;
  visible = std::min(visible, tree.attempts.size());
  text::Usage used;
  for (std::size_t i = 0; i < visible; ++i) {
    const runlog::Attempt& attempt = tree.attempts[i];
    if (attempt.answered) used += attempt.answered->usage;
    if (!attempt.correct()) continue;
    const auto& speedup = present(attempt.judged).speedup;
    if (settings.target_speedup > 0 && speedup && speedup->low >= settings.target_speedup)
      return End::kTarget;
    if (settings.first_correct) return End::kFirstCorrect;
  }
  for (const runlog::Failed& failed : tree.failures) {
    if (static_cast<std::size_t>(failed.attempt) < visible) used += failed.usage;
  }
  if (settings.tokens > 0 && used.tokens() >= settings.tokens) return End::kTokens;
  if (settings.seconds > 0 && seconds >= settings.seconds) return End::kSeconds;
  return std::nullopt;
}

bool is_overtime(const Settings& settings, double problem_seconds, double run_seconds) {
  const auto over = [](double limit, double taken) {
    return limit > 0 && taken >= kOvertime * limit;
  };
  return over(settings.seconds, problem_seconds) || over(settings.total_seconds, run_seconds);
}

double timing_seconds(const Settings& settings, double most, std::size_t workloads,
                      double seconds) {
  constexpr double kPart = 0.25;  // share of the problem's seconds for all workloads of an attempt
  constexpr double kMin = 4;      // in less, a busy machine may give no time at all
  constexpr double kLast = 1;     // of an attempt that would else be stopped
  if (settings.seconds <= 0) return most;
  const auto count = static_cast<double>(std::max<std::size_t>(workloads, 1));
  const double each = std::max(kMin, settings.seconds * kPart / count);
  const double left = (kOvertime * settings.seconds - seconds) / count;
  return std::min({most, each, std::max(kLast, left)});
}

std::size_t timed_workloads(const task::Problem& problem, task::Target target) {
  const auto is_timed = [&](const task::Workload& workload) {
    const task::WorkloadPolicy& policy = problem.workload_policy(workload.uuid);
    return policy.timed &&
           std::find(policy.targets.begin(), policy.targets.end(), target) != policy.targets.end();
  };
  return static_cast<std::size_t>(
      std::count_if(problem.workloads.begin(), problem.workloads.end(), is_timed));
}

}  // namespace kw::search
