// Pairing, differences, tests.
#include "report/comparison.h"

#include <cmath>
#include <functional>
#include <map>

#include "base/text.h"
#include "report/significance.h"

namespace kw::report {
namespace {

struct Pair {
  const ProblemRecord* run;
  const ProblemRecord* baseline;
};

std::vector<Pair> pair_up(const Run& run, const Run& baseline, Comparison& out) {
  std::map<std::string_view, const ProblemRecord*> others;
  for (const ProblemRecord& problem : baseline.problems) others[problem.name] = &problem;
  std::vector<Pair> pairs;
  for (const ProblemRecord& problem : run.problems) {
    auto found = others.find(problem.name);
    if (found == others.end()) {
      ++out.only_in_run;
      continue;
    }
    const ProblemRecord& other = *found->second;
    if (!problem.hash.empty() && !other.hash.empty() && problem.hash != other.hash)
      ++out.changed;
    else
      pairs.push_back({&problem, &other});
    others.erase(found);
  }
  out.only_in_baseline = static_cast<std::int64_t>(others.size());
  out.problems = static_cast<std::int64_t>(pairs.size());
  return pairs;
}

double score(const ProblemRecord& problem, Measure measure) {
  switch (measure) {
    case Measure::kCorrect:
      return best_attempt(problem) == nullptr ? 0 : 1;
    case Measure::kFast1:
      return faster_than(problem, 1) ? 1 : 0;
    case Measure::kFast1Low:
      return surely_faster_than(problem, 1) ? 1 : 0;
    case Measure::kGeometricMean:
      return log_speedup(problem).value_or(0);
  }
  return 0;
}

void count_intervals(const std::vector<Pair>& pairs, Comparison& out) {
  for (const Pair& pair : pairs) {
    const Attempt* a = best_attempt(*pair.run);
    const Attempt* b = best_attempt(*pair.baseline);
    if (a == nullptr || b == nullptr || !a->speedup || !b->speedup) continue;
    if (a->speedup->low && b->speedup->high && *a->speedup->low > *b->speedup->high)
      ++out.faster;
    else if (a->speedup->high && b->speedup->low && *a->speedup->high < *b->speedup->low)
      ++out.slower;
    else
      ++out.within_noise;
  }
}

// Where one of the files does not say it, nothing is known to differ.
void warn_if_other(std::string_view what, const std::string& run, const std::string& baseline,
                   std::vector<std::string>& warnings) {
  if (run.empty() || baseline.empty() || (run == baseline && run != kSeveral)) return;
  warnings.push_back(fmt::format("the runs' {} differ, {} and {}: their speedups do not compare",
                                 what, printable(run, 200), printable(baseline, 200)));
}

}  // namespace

std::string_view to_string(Measure measure) {
  switch (measure) {
    case Measure::kCorrect:
      return "correct";
    case Measure::kFast1:
      return "fast_1";
    case Measure::kFast1Low:
      return "fast_1_low";
    case Measure::kGeometricMean:
      return "geometric_mean";
  }
  return "?";
}

Comparison compare(const Run& run, const Run& baseline, const BootstrapOptions& options) {
  Comparison out;
  std::vector<Pair> pairs = pair_up(run, baseline, out);
  count_intervals(pairs, out);
  warn_if_other("baselines", run.baseline, baseline.baseline, out.warnings);
  warn_if_other("targets", run.target, baseline.target, out.warnings);
  warn_if_other("machines", run.hardware, baseline.hardware, out.warnings);
  std::vector<Statistic> differences;
  for (Measure measure :
       {Measure::kCorrect, Measure::kFast1, Measure::kFast1Low, Measure::kGeometricMean}) {
    MeasureComparison row;
    row.measure = measure;
    Statistic difference{{}, false};
    std::vector<double> values;
    for (const Pair& pair : pairs) {
      double a = score(*pair.run, measure), b = score(*pair.baseline, measure);
      row.run += a / static_cast<double>(pairs.size());
      row.baseline += b / static_cast<double>(pairs.size());
      if (a > b) ++row.only_run;
      if (a < b) ++row.only_baseline;
      difference.scores.push_back({a - b, 1});
      values.push_back(a - b);
    }
    row.p_value = measure == Measure::kGeometricMean
                      ? sign_flip_test(values, options.seed, options.resamples)
                      : mcnemar_exact(row.only_run, row.only_baseline);
    row.difference.value = weighted_mean(difference.scores).value_or(0);
    differences.push_back(std::move(difference));
    out.measures.push_back(row);
  }
  std::vector<std::optional<Interval>> intervals = bootstrap(differences, options);
  for (std::size_t i = 0; i < out.measures.size(); ++i) {
    MeasureComparison& row = out.measures[i];
    row.difference.interval = intervals[i];
    if (row.measure != Measure::kGeometricMean) continue;
    row.only_run = row.only_baseline = 0;
    row.run = std::exp(row.run);
    row.baseline = std::exp(row.baseline);
    row.difference.value = std::exp(row.difference.value);
    if (!row.difference.interval) continue;
    row.difference.interval->low = std::exp(row.difference.interval->low);
    row.difference.interval->high = std::exp(row.difference.interval->high);
  }
  return out;
}

void name_winners(std::vector<Comparison>& comparisons, double confidence) {
  std::vector<std::reference_wrapper<MeasureComparison>> rows;
  std::vector<double> p_values;
  for (Comparison& comparison : comparisons) {
    for (MeasureComparison& row : comparison.measures) {
      rows.emplace_back(row);
      p_values.push_back(row.p_value);
    }
  }
  std::vector<double> adjusted = holm(p_values);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    MeasureComparison& row = rows[i];
    row.p_holm = adjusted[i];
    if (row.p_holm >= 1 - confidence) continue;
    double equal = row.measure == Measure::kGeometricMean ? 1 : 0;
    const auto& interval = row.difference.interval;
    if ((interval ? interval->low : row.difference.value) > equal) row.winner = Winner::kRun;
    if ((interval ? interval->high : row.difference.value) < equal) row.winner = Winner::kBaseline;
  }
}

}  // namespace kw::report
