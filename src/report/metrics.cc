// Every share and mean is a weighted mean over problems, so that one bootstrap serves all.
#include "report/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

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

Counts largest_first(const std::map<std::string, std::int64_t>& counts) {
  Counts out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

void count(const Run& run, Metrics& out) {
  std::map<std::string, std::int64_t> outcomes, failures, given_up;
  out.problems = static_cast<std::int64_t>(run.problems.size());
  for (const ProblemRecord& problem : run.problems) {
    auto attempts = static_cast<std::int64_t>(problem.attempts.size());
    out.fewest_attempts = out.attempts == 0 && out.unattempted == 0
                              ? attempts
                              : std::min(out.fewest_attempts, attempts);
    out.most_attempts = std::max(out.most_attempts, attempts);
    out.attempts += attempts;
    if (attempts == 0) ++out.unattempted;
    if (!problem.failure.empty()) ++given_up[problem.failure];
    for (const Attempt& attempt : problem.attempts) {
      out.prompt_tokens += attempt.prompt_tokens;
      out.completion_tokens += attempt.completion_tokens;
      out.cost_usd += attempt.cost_usd;
      out.seconds += attempt.seconds;
      ++out.reached.at(static_cast<std::size_t>(attempt.progress));
      ++outcomes[attempt.outcome];
      if (!attempt.correct()) ++failures[failure_of(attempt)];
    }
  }
  out.outcomes = largest_first(outcomes);
  out.failures = largest_first(failures);
  out.given_up = largest_first(given_up);
}

// What one problem's attempts add to each step.
void add_gains(const ProblemRecord& problem, std::vector<BestSoFar>& steps,
               std::vector<double>& log_gains) {
  bool solved = false;
  double best = 0;  // speedup of the best so far
  for (std::size_t i = 0; i < problem.attempts.size(); ++i) {
    const Attempt& attempt = problem.attempts[i];
    steps[i].tokens += attempt.prompt_tokens + attempt.completion_tokens;
    steps[i].cost_usd += attempt.cost_usd;
    steps[i].seconds += attempt.seconds;
    if (!attempt.correct()) continue;
    if (!solved) ++steps[i].solved;
    solved = true;
    if (!attempt.speedup || attempt.speedup->median <= best) continue;
    double median = attempt.speedup->median;
    if (best <= 1 && median > 1) ++steps[i].faster;
    log_gains[i] += std::log(median) - (best > 0 ? std::log(best) : 0);
    best = median;
  }
}

std::vector<BestSoFar> follow_best(const Run& run, std::int64_t most_attempts) {
  std::vector<BestSoFar> steps(static_cast<std::size_t>(most_attempts));
  std::vector<double> log_gains(steps.size());
  for (const ProblemRecord& problem : run.problems) add_gains(problem, steps, log_gains);
  BestSoFar sum;
  double logs = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    sum.attempt = static_cast<std::int64_t>(i + 1);
    sum.solved += steps[i].solved;
    sum.faster += steps[i].faster;
    sum.tokens += steps[i].tokens;
    sum.cost_usd += steps[i].cost_usd;
    sum.seconds += steps[i].seconds;
    logs += log_gains[i];
    sum.geometric_mean = std::exp(logs / static_cast<double>(run.problems.size()));
    steps[i] = sum;
  }
  return steps;
}

Estimate exp_of(Estimate log) {
  log.value = std::exp(log.value);
  if (log.interval) {
    log.interval->low = std::exp(log.interval->low);
    log.interval->high = std::exp(log.interval->high);
  }
  return log;
}

// In the order in which measure() takes them out again.
std::vector<Statistic> statistics_of(const Run& run, std::span<const double> fast_p,
                                     const std::vector<std::int64_t>& ks) {
  std::vector<Statistic> out;
  out.push_back(share(run, [](const ProblemRecord& p) { return correct_count(p) > 0; }));
  for (double p : fast_p) {
    out.push_back(
        share(run, [&](const ProblemRecord& problem) { return faster_than(problem, p); }));
    out.push_back(
        share(run, [&](const ProblemRecord& problem) { return surely_faster_than(problem, p); }));
  }
  Statistic correct{{}, false}, with_failures{{}, false};
  for (const ProblemRecord& problem : run.problems) {
    std::optional<double> log = log_speedup(problem);
    correct.scores.push_back({log.value_or(0), log ? 1.0 : 0.0});
    with_failures.scores.push_back({log.value_or(0), 1});
  }
  out.push_back(std::move(correct));
  out.push_back(std::move(with_failures));
  for (std::int64_t k : ks) {
    out.push_back(share(run, [&](const ProblemRecord& problem) {
      return pass_at_k(static_cast<std::int64_t>(problem.attempts.size()), correct_count(problem),
                       k);
    }));
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

Metrics measure(const Run& run, const BootstrapOptions& options, std::span<const double> fast_p) {
  Metrics out;
  count(run, out);
  out.best_so_far = follow_best(run, out.most_attempts);
  std::vector<std::int64_t> ks;
  if (run.independent) ks = sample_counts(out.most_attempts);
  std::vector<Estimate> estimates = estimates_of(statistics_of(run, fast_p, ks), options);
  auto next = estimates.begin();
  out.correctness = *next++;
  for (double p : fast_p) {
    Estimate median = *next++;
    out.fast_p.push_back({p, median, *next++});
  }
  GeometricMean& mean = out.geometric_mean;
  mean.timed =
      std::count_if(run.problems.begin(), run.problems.end(),
                    [](const ProblemRecord& problem) { return log_speedup(problem).has_value(); });
  if (mean.timed > 0) mean.correct = exp_of(*next);
  ++next;
  mean.with_failures = exp_of(*next++);
  for (std::int64_t k : ks) {
    auto is_short = [&](const ProblemRecord& problem) {
      return static_cast<std::int64_t>(problem.attempts.size()) < k;
    };
    out.pass_at_k.push_back(
        {k, *next++, std::count_if(run.problems.begin(), run.problems.end(), is_short)});
  }
  return out;
}

}  // namespace kw::report
