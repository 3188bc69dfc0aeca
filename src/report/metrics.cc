// Every share and mean is a weighted mean over problems, so that one bootstrap serves all.
#include "report/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/present.h"
#include "report/tallies.h"

namespace kw::report {
namespace {

std::int64_t correct_count(const ProblemRecord& problem) {
  return std::count_if(problem.attempts.begin(), problem.attempts.end(),
                       [](const Attempt& attempt) { return attempt.correct(); });
}

template <typename Value>
Statistic share(const Run& run, Value value) {
  Statistic out;
  for (const ProblemRecord& problem : run.problems)
    out.scores.push_back({static_cast<double>(value(problem)), 1});
  return out;
}

// 1, 2, 4, ... and the largest itself.
std::vector<std::int64_t> sample_counts(std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t k = 1; k < most; k *= 2) out.push_back(k);
  if (most > 0) out.push_back(most);
  return out;
}

Estimate exp_of(Estimate log) {
  log.value = std::exp(log.value);
  if (log.interval) {
    log.interval->low = std::exp(log.interval->low);
    log.interval->high = std::exp(log.interval->high);
  }
  return log;
}

// Of the problems with a correct kernel alone.
Statistic share_of_correct(const Run& run, double p) {
  Statistic out;
  for (const ProblemRecord& problem : run.problems)
    out.scores.push_back(
        {faster_than(problem, p) ? 1.0 : 0.0, correct_count(problem) > 0 ? 1.0 : 0.0});
  return out;
}

// A problem counts by its workloads.
Statistic wins(const Run& run, double p) {
  Statistic out;
  for (const ProblemRecord& problem : run.problems) {
    const auto all = static_cast<double>(problem.workloads.size());
    const auto won =
        static_cast<double>(std::count_if(problem.workloads.begin(), problem.workloads.end(),
                                          [p](double speedup) { return speedup > p; }));
    out.scores.push_back({all > 0 ? won / all : 0, all});
  }
  return out;
}

bool last_is_faster_than(const ProblemRecord& problem, double p) {
  if (problem.attempts.empty()) return false;
  const Attempt& last = problem.attempts.back();
  return last.correct() && last.speedup && last.speedup->median > p;
}

// What there is to be estimated of a run.
struct Asked {
  std::span<const double> fast_p;
  std::vector<std::int64_t> ks;
  bool last_attempt = false, win_at_p = false;
};

void add_geometric_means(const Run& run, std::vector<Statistic>& out) {
  Statistic correct{{}, false}, with_failures{{}, false};
  for (const ProblemRecord& problem : run.problems) {
    std::optional<double> log = log_speedup(problem);
    correct.scores.push_back({log.value_or(0), log ? 1.0 : 0.0});
    with_failures.scores.push_back({log.value_or(0), 1});
  }
  out.push_back(std::move(correct));
  out.push_back(std::move(with_failures));
}

// In the order in which take_estimates() takes them out again.
std::vector<Statistic> statistics_of(const Run& run, const Asked& asked) {
  std::vector<Statistic> out;
  out.push_back(share(run, [](const ProblemRecord& p) { return correct_count(p) > 0; }));
  for (double p : asked.fast_p) {
    out.push_back(
        share(run, [&](const ProblemRecord& problem) { return faster_than(problem, p); }));
    out.push_back(
        share(run, [&](const ProblemRecord& problem) { return surely_faster_than(problem, p); }));
    out.push_back(share_of_correct(run, p));
  }
  add_geometric_means(run, out);
  for (std::int64_t k : asked.ks) {
    out.push_back(share(run, [&](const ProblemRecord& problem) {
      return pass_at_k(static_cast<std::int64_t>(problem.attempts.size()), correct_count(problem),
                       k);
    }));
  }
  if (asked.last_attempt) {
    out.push_back(share(run, [](const ProblemRecord& problem) {
      return !problem.attempts.empty() && problem.attempts.back().correct();
    }));
    for (double p : asked.fast_p)
      out.push_back(share(
          run, [&](const ProblemRecord& problem) { return last_is_faster_than(problem, p); }));
  }
  if (asked.win_at_p) {
    for (double p : asked.fast_p) out.push_back(wins(run, p));
  }
  return out;
}

std::vector<Estimate> estimates_of(const std::vector<Statistic>& statistics,
                                   const BootstrapOptions& options) {
  std::vector<std::optional<Interval>> intervals = bootstrap(statistics, options);
  std::vector<Estimate> out;
  for (std::size_t i = 0; i < statistics.size(); ++i)
    out.push_back({weighted_mean(statistics[i].scores).value_or(0), intervals[i]});
  return out;
}

}  // namespace

double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k) {
  n = std::max(n, k);
  if (n - c < k) return 1;
  double none = 1;  // C(n - c, k) / C(n, k) as a product of c factors below 1
  for (std::int64_t i = n - c + 1; i <= n; ++i)
    none *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - none;
}

std::optional<double> log_speedup(const ProblemRecord& problem) {
  const Attempt* best = best_attempt(problem);
  if (best == nullptr || !best->speedup || best->speedup->median <= 0) return std::nullopt;
  return std::log(best->speedup->median);
}

bool faster_than(const ProblemRecord& problem, double p) {
  const Attempt* best = best_attempt(problem);
  return best != nullptr && best->speedup && best->speedup->median > p;
}

bool surely_faster_than(const ProblemRecord& problem, double p) {
  const Attempt* best = best_attempt(problem);
  return best != nullptr && best->speedup && best->speedup->low.value_or(0) > p;
}

namespace {

void take_estimates(const Run& run, const Asked& asked, const std::vector<Estimate>& estimates,
                    Metrics& out) {
  auto next = estimates.begin();
  out.correctness = *next++;
  const bool some_correct = out.correctness.value > 0;
  for (double p : asked.fast_p) {
    FastP& row = out.fast_p.emplace_back();
    row.p = p;
    row.median = *next++;
    row.low = *next++;
    if (some_correct) row.of_correct = *next;
    ++next;
  }
  GeometricMean& mean = out.geometric_mean;
  if (mean.timed > 0) mean.correct = exp_of(*next);
  ++next;
  mean.with_failures = exp_of(*next++);
  for (std::int64_t k : asked.ks) {
    auto is_short = [&](const ProblemRecord& problem) {
      return static_cast<std::int64_t>(problem.attempts.size()) < k;
    };
    out.pass_at_k.push_back(
        {k, *next++, std::count_if(run.problems.begin(), run.problems.end(), is_short)});
  }
  if (asked.last_attempt) {
    LastAttempt& last = out.last_attempt.emplace();
    last.correctness = *next++;
    for (double p : asked.fast_p) last.fast_p.emplace_back(p, *next++);
  }
  if (asked.win_at_p) {
    for (double p : asked.fast_p) out.win_at_p.push_back({p, *next++});
  }
}

}  // namespace

Metrics measure(const Run& run, const BootstrapOptions& options, std::span<const double> fast_p) {
  Metrics out;
  count(run, out);
  out.best_so_far = follow_best(run, out.most_attempts);
  out.refinement = refinement_of(run);
  std::vector<double> best;
  for (const ProblemRecord& problem : run.problems) {
    if (log_speedup(problem)) best.push_back(present(best_attempt(problem)->speedup).median);
  }
  out.geometric_mean.timed = static_cast<std::int64_t>(best.size());
  out.speedup_quartiles = quartiles_of(std::move(best));
  Asked asked{fast_p, {}, out.refinement.has_value(), false};
  if (run.independent) asked.ks = sample_counts(out.most_attempts);
  asked.win_at_p = std::any_of(run.problems.begin(), run.problems.end(),
                               [](const ProblemRecord& p) { return !p.workloads.empty(); });
  take_estimates(run, asked, estimates_of(statistics_of(run, asked), options), out);
  return out;
}

}  // namespace kw::report
