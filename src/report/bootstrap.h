// Confidence intervals over problems: the bootstrap with bias correction and acceleration (BCa;
// Efron 1987, "Better Bootstrap Confidence Intervals").
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kw::report {

struct BootstrapOptions {
  std::uint64_t seed = 0;
  int resamples = 10000;
  double confidence = 0.95;
};

// One problem's part in a weighted mean.
struct Score {
  double value = 0;
  double weight = 1;  // 0: the problem is not in it
};

struct Statistic {
  std::vector<Score> scores;  // one a problem
  bool is_share = true;       // values are within [0, 1]
};

enum class IntervalMethod {
  kBca,
  kExact,  // Clopper and Pearson: all problems 0 or all 1, where resampling sees no spread
};
std::string_view to_string(IntervalMethod method);  // "bca", "exact"

struct Interval {
  double low = 0, high = 0;
  IntervalMethod method = IntervalMethod::kBca;
};

// Sum of value x weight over sum of weights; none when the weights sum to 0.
std::optional<double> weighted_mean(const std::vector<Score>& scores);

// An interval for the weighted mean of each statistic; all have the same problems and see the same
// resamples. None where nothing can be said: no weight, or all weight on one value that is no share
// of 0 or 1. The same options and scores give the same bits. Cost: problems x resamples x
// statistics.
std::vector<std::optional<Interval>> bootstrap(const std::vector<Statistic>& statistics,
                                               const BootstrapOptions& options);

// Quantile of the standard normal distribution, for 0 < p < 1.
double normal_quantile(double p);

}  // namespace kw::report
