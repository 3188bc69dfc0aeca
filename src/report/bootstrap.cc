// Resampling, then BCa for each statistic.
#include "report/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "report/quantile.h"

namespace kw::report {
namespace {

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

// From the means without one problem each.
double acceleration(const std::vector<Score>& scores) {
  double sum = 0, weights = 0;
  for (const Score& s : scores) {
    sum += s.value * s.weight;
    weights += s.weight;
  }
  std::vector<double> means;
  for (const Score& s : scores) {
    if (weights - s.weight > 0) means.push_back((sum - s.value * s.weight) / (weights - s.weight));
  }
  double centre = 0;
  for (double mean : means) centre += mean / static_cast<double>(means.size());
  double squares = 0, cubes = 0;
  for (double mean : means) {
    squares += (centre - mean) * (centre - mean);
    cubes += (centre - mean) * (centre - mean) * (centre - mean);
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

// The only value that has weight; none when there are several.
std::optional<double> only_value(const std::vector<Score>& scores) {
  std::optional<double> out;
  for (const Score& s : scores) {
    if (s.weight == 0) continue;
    if (out && *out != s.value) return std::nullopt;
    out = s.value;
  }
  return out;
}

// The interval of problems that are all 0 or all 1.
std::optional<Interval> exact(double value, const std::vector<Score>& scores, double confidence) {
  auto problems =
      std::count_if(scores.begin(), scores.end(), [](const Score& s) { return s.weight > 0; });
  double edge = std::pow((1 - confidence) / 2, 1 / static_cast<double>(problems));
  if (value == 0) return Interval{0, 1 - edge, IntervalMethod::kExact};
  if (value == 1) return Interval{edge, 1, IntervalMethod::kExact};
  return std::nullopt;
}

Interval bca(double value, const std::vector<Score>& scores, std::vector<double> means,
             double confidence) {
  std::sort(means.begin(), means.end());
  double tolerance = 1e-12 * std::max(1.0, std::abs(value));  // of sums in another order
  double below = 0;
  for (double mean : means) {
    if (mean < value - tolerance)
      below += 1;
    else if (mean <= value + tolerance)
      below += 0.5;
  }
  double share = below / static_cast<double>(means.size());
  double bias = share > 0 && share < 1 ? normal_quantile(share) : 0;
  double a = acceleration(scores);
  auto adjusted = [&](double p) {
    double z = bias + normal_quantile(p);
    return normal_cdf(bias + z / (1 - a * z));
  };
  return {quantile(means, adjusted((1 - confidence) / 2)),
          quantile(means, adjusted((1 + confidence) / 2)), IntervalMethod::kBca};
}

// For each statistic its means over all resamples that have weight.
std::vector<std::vector<double>> resample(const std::vector<Statistic>& statistics,
                                          const BootstrapOptions& options) {
  std::vector<std::vector<double>> out(statistics.size());
  std::size_t problems = statistics.empty() ? 0 : statistics[0].scores.size();
  Rng rng(options.seed);
  std::vector<std::size_t> drawn(problems);
  for (int i = 0; i < options.resamples; ++i) {
    for (std::size_t& problem : drawn) problem = rng.below(problems);
    for (std::size_t s = 0; s < statistics.size(); ++s) {
      double sum = 0, weights = 0;
      for (std::size_t problem : drawn) {
        const Score& score = statistics[s].scores[problem];
        sum += score.value * score.weight;
        weights += score.weight;
      }
      if (weights > 0) out[s].push_back(sum / weights);
    }
  }
  return out;
}

}  // namespace

std::string_view to_string(IntervalMethod method) {
  return method == IntervalMethod::kBca ? "bca" : "exact";
}

double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 200 && low < high; ++i) {
    double middle = (low + high) / 2;
    (normal_cdf(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<double> weighted_mean(const std::vector<Score>& scores) {
  double sum = 0, weights = 0;
  for (const Score& score : scores) {
    sum += score.value * score.weight;
    weights += score.weight;
  }
  if (weights <= 0) return std::nullopt;
  return sum / weights;
}

std::vector<std::optional<Interval>> bootstrap(const std::vector<Statistic>& statistics,
                                               const BootstrapOptions& options) {
  std::vector<std::vector<double>> means = resample(statistics, options);
  std::vector<std::optional<Interval>> out(statistics.size());
  for (std::size_t s = 0; s < statistics.size(); ++s) {
    const auto& [scores, is_share] = statistics[s];
    std::optional<double> value = weighted_mean(scores);
    if (!value || means[s].empty()) continue;
    if (auto only = only_value(scores)) {
      if (is_share) out[s] = exact(*only, scores, options.confidence);
    } else {
      out[s] = bca(*value, scores, std::move(means[s]), options.confidence);
    }
  }
  return out;
}

}  // namespace kw::report
