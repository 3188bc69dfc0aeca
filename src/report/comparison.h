// Two runs over the same problems, problem by problem. No winner is named inside the noise.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/metrics.h"

namespace kw::report {

enum class Measure { kCorrect, kFast1, kFast1Low, kGeometricMean };
std::string_view to_string(Measure measure);  // "correct", "fast_1", "fast_1_low", "geometric_mean"

enum class Winner { kNone, kRun, kBaseline };

struct MeasureComparison {
  Measure measure = Measure::kCorrect;
  double run = 0, baseline = 0;
  // run - baseline with its interval by the paired bootstrap; for geometric_mean (failures as 1x)
  // run / baseline.
  Estimate difference;
  std::int64_t only_run = 0, only_baseline = 0;  // problems that only one has; not geometric_mean
  double p_value = 1;  // McNemar's exact test; geometric_mean: sign-flip test of log speedups
  double p_holm = 1;   // with all tests of the report counted in
  Winner winner = Winner::kNone;
};

struct Comparison {
  std::size_t run = 0, baseline = 0;  // places in the report's list
  std::int64_t problems = 0;          // asked in both, with the same hash where both have one
  std::int64_t only_in_run = 0, only_in_baseline = 0, changed = 0;  // changed: other hashes
  // Problems that both solved with timed kernels: the intervals say faster, slower, or overlap.
  std::int64_t faster = 0, slower = 0, within_noise = 0;
  std::vector<MeasureComparison> measures;
  std::vector<std::string> warnings;  // why speedups of the two do not compare, for people
};

// Without p_holm and winner, which need all comparisons of the report.
Comparison compare(const Run& run, const Run& baseline, const BootstrapOptions& options);

// Fills p_holm and winner: a winner needs p_holm under 1 - confidence and an interval without 0
// (for a ratio 1). There is no interval where the difference is the same on every problem.
void name_winners(std::vector<Comparison>& comparisons, double confidence);

}  // namespace kw::report
