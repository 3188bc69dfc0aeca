#include "report/tallies.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "report/quantile.h"

namespace kw::report {
namespace {

Counts largest_first(const std::map<std::string, std::int64_t>& counts) {
  Counts out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

// Adds to each step what one problem's attempts gain; what was spent beside them counts for the
// last.
void add_gains(const ProblemRecord& problem, std::vector<BestSoFar>& steps,
               std::vector<double>& log_gains) {
  if (!steps.empty())
    steps[problem.attempts.empty() ? 0 : problem.attempts.size() - 1].spent += problem.beside;
  bool solved = false;
  double best = 0;  // speedup of the best so far
  for (std::size_t i = 0; i < problem.attempts.size(); ++i) {
    const Attempt& attempt = problem.attempts[i];
    steps[i].spent += attempt.spent;
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

// Above 0: a came further than b. Both correct without two times are equal.
int compare(const Attempt& a, const Attempt& b) {
  if (a.progress != b.progress) return a.progress > b.progress ? 1 : -1;
  if (!a.correct() || !a.speedup || !b.speedup || a.speedup->median == b.speedup->median) return 0;
  return a.speedup->median > b.speedup->median ? 1 : -1;
}

}  // namespace

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
    out.spent += problem.beside;
    for (const Attempt& attempt : problem.attempts) {
      out.spent += attempt.spent;
      ++out.reached.at(static_cast<std::size_t>(attempt.progress));
      ++outcomes[attempt.outcome];
      if (!attempt.correct()) ++failures[failure_of(attempt)];
    }
  }
  out.outcomes = largest_first(outcomes);
  out.failures = largest_first(failures);
  out.given_up = largest_first(given_up);
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
    sum.spent += steps[i].spent;
    logs += log_gains[i];
    sum.geometric_mean = std::exp(logs / static_cast<double>(run.problems.size()));
    steps[i] = sum;
  }
  return steps;
}

std::optional<Refinement> refinement_of(const Run& run) {
  Refinement out;
  for (const ProblemRecord& problem : run.problems) {
    std::map<std::string, const Attempt*> seen;
    for (const Attempt& attempt : problem.attempts) {
      const auto parent = seen.find(attempt.parent);
      if (!attempt.parent.empty() && parent != seen.end()) {
        const int order = compare(attempt, *parent->second);
        ++(order > 0 ? out.improved : order < 0 ? out.regressed : out.unchanged);
      }
      seen[attempt.id] = &attempt;
    }
  }
  return out.pairs() > 0 ? std::optional<Refinement>(out) : std::nullopt;
}

std::optional<Quartiles> quartiles_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Quartiles{quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

}  // namespace kw::report
