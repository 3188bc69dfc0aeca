// Exact binomial, permutation, Holm.
#include "report/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace kw::report {

double mcnemar_exact(std::int64_t only_a, std::int64_t only_b) {
  std::int64_t n = only_a + only_b;
  std::int64_t fewer = std::min(only_a, only_b);
  // log of the probability of i heads of n, by recurrence: 2^-n is too small for a double soon.
  double log_term = -static_cast<double>(n) * std::log(2.0);
  double log_sum = log_term;
  for (std::int64_t i = 1; i <= fewer; ++i) {
    log_term += std::log(static_cast<double>(n - i + 1) / static_cast<double>(i));
    double larger = std::max(log_sum, log_term);
    log_sum = larger + std::log(std::exp(log_sum - larger) + std::exp(log_term - larger));
  }
  return std::min(1.0, 2 * std::exp(log_sum));
}

double sign_flip_test(const std::vector<double>& differences, std::uint64_t seed, int draws) {
  std::vector<double> kept;
  std::copy_if(differences.begin(), differences.end(), std::back_inserter(kept),
               [](double d) { return d != 0; });
  double observed = std::abs(std::accumulate(kept.begin(), kept.end(), 0.0));
  Rng rng(seed);
  std::int64_t as_large = 0;
  for (int i = 0; i < draws; ++i) {
    double sum = 0;
    for (double d : kept) sum += (rng.next() >> 63U) == 0 ? d : -d;
    if (std::abs(sum) >= observed * (1 - 1e-12)) ++as_large;
  }
  return static_cast<double>(1 + as_large) / (1 + static_cast<double>(draws));
}

std::vector<double> holm(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> out(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, p_values[order[i]] * static_cast<double>(order.size() - i));
    out[order[i]] = std::min(1.0, largest);
  }
  return out;
}

}  // namespace kw::report
