// Outputs that are samples: indices drawn from given probabilities. One call proves little; the
// test gathers over calls.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "base/random.h"
#include "gym/correctness/tensor.h"

namespace kw::gym {

// Every call has fresh probabilities, so frequencies of single indices mean nothing. Instead each
// sample is turned into a number that is uniform on [0, 1) exactly when the sample was drawn with
// these probabilities (the randomised probability integral transform): the probability of all
// likelier indices, plus a random share of its own. Ordering by probability shows a greedy sampler,
// which is uniform over the index order. The numbers are counted in 20 bins and tested with
// chi-square (Wilson and Hilferty's approximation). Impossible indices (out of range, or of
// probability 0: masked by top-k or top-p) fail at once. Not thread-safe.
class SamplingTest {
 public:
  static constexpr std::size_t kBins = 20;
  static constexpr double kLeastSamples = 200;  // below this only impossible indices fail
  static constexpr double kLeastChance = 1e-6;  // honest samplers fail less often than this

  // probabilities: [rows, vocabulary], rows summing to about 1 (normalised here); ids: one per row,
  // any integer dtype. rng: secret, of the checker.
  void add(const TensorView& ids, std::span<const double> probabilities, std::size_t vocabulary,
           Rng& rng);

  std::uint64_t impossible() const { return impossible_; }
  double samples() const { return samples_; }
  double chance() const;  // of a chi-square at least this large under honest sampling; 1 with fewer
                          // than kLeastSamples
  bool passed() const { return impossible_ == 0 && chance() >= kLeastChance; }

 private:
  std::array<double, kBins> counts_{};
  double samples_ = 0;
  std::uint64_t impossible_ = 0;
};

}  // namespace kw::gym
