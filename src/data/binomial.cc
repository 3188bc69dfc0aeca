#include "data/binomial.h"

#include <cmath>

namespace kw::data {
namespace {

// P(X <= k) of n trials at rate p, 0 < p < 1.
double at_most(std::uint64_t k, std::uint64_t n, double p) {
  const double log_odds = std::log(p) - std::log1p(-p);
  double log_term = static_cast<double>(n) * std::log1p(-p), sum = std::exp(log_term);
  for (std::uint64_t i = 1; i <= k; ++i) {
    log_term +=
        std::log(static_cast<double>(n - i + 1)) - std::log(static_cast<double>(i)) + log_odds;
    sum += std::exp(log_term);
  }
  return sum;
}

}  // namespace

double clopper_pearson_upper(std::uint64_t k, std::uint64_t n, double confidence) {
  if (n == 0 || k >= n) return 1;
  double low = static_cast<double>(k) / static_cast<double>(n), high = 1;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    if (middle <= 0 || middle >= 1) break;
    (at_most(k, n, middle) > 1 - confidence ? low : high) = middle;
  }
  return high;
}

}  // namespace kw::data
