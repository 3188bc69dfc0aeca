// Tests outputs that are samples: indices drawn from given probabilities. A single call proves
// little, so the test gathers over calls.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "gym/correctness/tensor.h"

namespace kw::gym {

// Most calls have fresh probabilities, so frequencies of single indices mean nothing. Instead each
// sample is turned into a number that is uniform on [0, 1) exactly when the sample was drawn with
// these probabilities (the randomised probability integral transform): the probability of all
// likelier indices, plus a random share of its own. Ordering by probability shows a greedy sampler,
// which is uniform over the index order. The numbers are counted in 20 bins and tested with
// chi-square (Wilson and Hilferty's approximation). Impossible indices (out of range, or of
// probability 0: masked by top-k or top-p) fail at once.
//
// A call whose probabilities are those of the call before must draw anew: two independent draws
// from a row p agree with probability sum(p^2), and Chernoff's bound for a sum of such trials says
// how unlikely more agreement is. A sampler that ignores its random numbers, or keeps its answers,
// agrees everywhere. Not thread-safe.
class SamplingTest {
 public:
  static constexpr std::size_t kBins = 20;
  static constexpr double kMinSamples = 200;  // below this only impossible indices fail
  static constexpr double kMinChance = 1e-6;  // honest samplers fail less often than this

  // probabilities: [rows, vocabulary], rows summing to about 1 (normalised here); ids: one per row,
  // any integer dtype. rng: secret, of the checker. In the order of the calls.
  void add(const TensorView& ids, std::span<const double> probabilities, std::size_t vocabulary,
           Rng& rng);

  std::uint64_t impossible() const { return impossible_; }
  double samples() const { return samples_; }
  double chance() const;  // of a chi-square at least this large under honest sampling; 1 with fewer
                          // than kMinSamples
  double repeat_chance() const;  // of at least this much agreement between calls under it
  bool is_drawn_anew() const { return repeat_chance() >= kMinChance; }
  bool passed() const { return impossible_ == 0 && chance() >= kMinChance && is_drawn_anew(); }

 private:
  void compare_with_last(std::span<const std::int64_t> drawn, std::span<const double> probabilities,
                         std::size_t vocabulary);

  std::array<double, kBins> counts_{};
  std::vector<double> last_probabilities_;
  std::vector<std::int64_t> last_drawn_;
  double agreements_ = 0, expected_agreements_ = 0;
  double samples_ = 0;
  std::uint64_t impossible_ = 0;
};

}  // namespace kw::gym
