// Order statistics, binomial tails and the signed-rank interval.
#include "gym/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

namespace kw::gym {
namespace {

constexpr std::size_t kExactSamples = 50;

double log_gamma(double x) {
  int sign = 0;  // std::lgamma writes it into a global
  return ::lgamma_r(x, &sign);
}

// The largest t with P(T+ <= t) <= tail under symmetry, or -1: counts subsets of ranks 1..n by
// their sum.
std::int64_t exact_critical_value(std::size_t n, double tail) {
  std::vector<double> probability(n * (n + 1) / 2 + 1, 0.0);
  probability[0] = 1;
  std::size_t reach = 0;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    reach += rank;
    for (std::size_t sum = reach + 1; sum-- > 0;) {
      probability[sum] =
          0.5 * probability[sum] + (sum >= rank ? 0.5 * probability[sum - rank] : 0.0);
    }
  }
  double cumulated = 0;
  for (std::size_t sum = 0; sum < probability.size(); ++sum) {
    cumulated += probability[sum];
    if (cumulated > tail) return static_cast<std::int64_t>(sum) - 1;
  }
  return -1;
}

std::int64_t critical_value(std::size_t n, double tail) {
  if (n <= kExactSamples) return exact_critical_value(n, tail);
  auto count = static_cast<double>(n);
  double mean = count * (count + 1) / 4;
  double deviation = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
  return static_cast<std::int64_t>(std::floor(mean + normal_quantile(tail) * deviation - 0.5));
}

// The rank of each sample among all, less the mean rank.
std::vector<double> centred_ranks(std::span<const double> samples) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return samples[i]; });
  std::vector<double> rank(samples.size());
  double center = (static_cast<double>(samples.size()) - 1) / 2;
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<double>(i) - center;
  return rank;
}

double sum_of_squares(std::span<const double> values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

}  // namespace

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  double place = share * static_cast<double>(values.size() - 1);
  auto below = static_cast<std::size_t>(place);
  std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

double binomial_upper_tail(std::int64_t successes, std::int64_t trials, double probability) {
  double total = 0;
  for (std::int64_t k = std::max<std::int64_t>(0, successes); k <= trials; ++k) {
    auto n = static_cast<double>(trials);
    auto x = static_cast<double>(k);
    total += std::exp(log_gamma(n + 1) - log_gamma(x + 1) - log_gamma(n - x + 1) +
                      x * std::log(probability) + (n - x) * std::log1p(-probability));
  }
  return std::min(1.0, total);
}

double normal_quantile(double p) {
  if (p <= 0) return -std::numeric_limits<double>::infinity();
  if (p >= 1) return std::numeric_limits<double>::infinity();
  if (p > 0.5) return -normal_quantile(1 - p);
  double x = 0;
  if (p < 0.02425) {
    double q = std::sqrt(-2 * std::log(p));
    x = (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
           2.549732539343734e+00) *
              q +
          4.374664141464968e+00) *
             q +
         2.938163982698783e+00) /
        ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
          3.754408661907416e+00) *
             q +
         1);
  } else {
    double q = p - 0.5;
    double r = q * q;
    x = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
           1.383577518672690e+02) *
              r -
          3.066479806614716e+01) *
             r +
         2.506628277459239e+00) *
        q /
        (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
           6.680131188771972e+01) *
              r -
          1.328068155288572e+01) *
             r +
         1);
  }
  double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
  double step = error * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
  return x - step / (1 + x * step / 2);
}

Interval signed_rank_interval(std::span<const double> samples, double alpha) {
  std::vector<double> walsh;
  walsh.reserve(samples.size() * (samples.size() + 1) / 2);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t j = i; j < samples.size(); ++j) walsh.push_back((samples[i] + samples[j]) / 2);
  }
  std::sort(walsh.begin(), walsh.end());
  Interval interval{median(walsh), -std::numeric_limits<double>::infinity(),
                    std::numeric_limits<double>::infinity()};
  std::int64_t critical = critical_value(samples.size(), alpha / 2);
  if (critical < 0 || walsh.empty()) return interval;
  auto skip = static_cast<std::size_t>(critical);
  interval.low = walsh[skip];
  interval.high = walsh[walsh.size() - 1 - skip];
  return interval;
}

double median_absolute_deviation(std::span<const double> values) {
  double center = median({values.begin(), values.end()});
  std::vector<double> distances;
  for (double value : values) distances.push_back(std::abs(value - center));
  return median(std::move(distances));
}

double autocorrelation_factor(std::span<const double> samples) {
  constexpr std::size_t kMin = 20;
  std::size_t n = samples.size();
  if (n < kMin) return 1;
  const std::vector<double> rank = centred_ranks(samples);
  const double variance = sum_of_squares(rank);
  double factor = 1;
  for (std::size_t lag = 1; lag < n / 4; ++lag) {
    double product = 0;
    for (std::size_t i = lag; i < n; ++i) product += rank[i] * rank[i - lag];
    if (product / variance < 2 / std::sqrt(static_cast<double>(n))) break;
    factor += 2 * product / variance;
  }
  return factor;
}

double drift_factor(std::span<const double> samples) {
  constexpr std::size_t kStretches = 8, kMin = 64;
  constexpr double kChance = 14.067 / 7;  // 95 % of chi-square over its 7 degrees of freedom
  const std::size_t length = samples.size() / kStretches;
  if (samples.size() < kMin) return 1;
  const std::vector<double> rank = centred_ranks(samples.last(kStretches * length));
  std::vector<double> means;
  for (std::size_t i = 0; i < kStretches; ++i) {
    auto first = rank.begin() + static_cast<std::ptrdiff_t>(i * length);
    means.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(length), 0.0) /
                    static_cast<double>(length));
  }
  const double of_means = sum_of_squares(means) / (kStretches - 1);
  const double expected = sum_of_squares(rank) / static_cast<double>(rank.size() * length);
  const double factor = of_means / expected;
  return factor > kChance ? factor : 1;
}

}  // namespace kw::gym
