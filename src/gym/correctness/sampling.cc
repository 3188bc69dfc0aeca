// Probability integral transform and chi-square; agreement of repeated calls.
#include "gym/correctness/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace kw::gym {

void SamplingTest::add(const TensorView& ids, std::span<const double> probabilities,
                       std::size_t vocabulary, Rng& rng) {
  KW_CHECK(vocabulary > 0 && ids.elements() * vocabulary == probabilities.size());
  std::vector<std::int64_t> drawn(ids.elements());
  load_whole(ids, 0, drawn);
  compare_with_last(drawn, probabilities, vocabulary);
  for (std::size_t r = 0; r < drawn.size(); ++r) {
    std::span<const double> row = probabilities.subspan(r * vocabulary, vocabulary);
    auto id = static_cast<std::size_t>(drawn[r]);
    if (drawn[r] < 0 || id >= vocabulary || !(row[id] > 0)) {
      impossible_ += 1;
      continue;
    }
    double likelier = 0, total = 0;
    for (std::size_t i = 0; i < vocabulary; ++i) {
      total += row[i];
      if (row[i] > row[id] || (row[i] == row[id] && i < id)) likelier += row[i];
    }
    double u = (likelier + rng.uniform() * row[id]) / total;
    counts_.at(static_cast<std::size_t>(
        std::clamp(u * kBins, 0.0, static_cast<double>(kBins) - 0.5))) += 1;
    samples_ += 1;
  }
}

void SamplingTest::compare_with_last(std::span<const std::int64_t> drawn,
                                     std::span<const double> probabilities,
                                     std::size_t vocabulary) {
  if (std::ranges::equal(probabilities, last_probabilities_)) {
    for (std::size_t r = 0; r < drawn.size(); ++r) {
      double total = 0, squares = 0;
      for (double p : probabilities.subspan(r * vocabulary, vocabulary)) {
        total += p;
        squares += p * p;
      }
      if (!(total > 0)) continue;
      expected_agreements_ += squares / (total * total);
      agreements_ += drawn[r] == last_drawn_[r] ? 1 : 0;
    }
  }
  last_probabilities_.assign(probabilities.begin(), probabilities.end());
  last_drawn_.assign(drawn.begin(), drawn.end());
}

// P(X >= k) <= exp(k - m) (m / k)^k for a sum X of independent trials with mean m < k.
double SamplingTest::repeat_chance() const {
  double k = agreements_, m = expected_agreements_;
  return k <= m || m == 0 ? 1 : std::exp(k - m - k * std::log(k / m));
}

double SamplingTest::chance() const {
  if (samples_ < kMinSamples) return 1;
  double expected = samples_ / static_cast<double>(kBins);
  double chi_square = 0;
  for (double count : counts_) chi_square += (count - expected) * (count - expected) / expected;
  double freedom = static_cast<double>(kBins) - 1;
  double third = 2.0 / (9 * freedom);
  double z = (std::cbrt(chi_square / freedom) - (1 - third)) / std::sqrt(third);
  return std::erfc(z / std::sqrt(2.0)) / 2;
}

}  // namespace kw::gym
