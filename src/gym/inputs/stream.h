// Random arrays at memory speed: eight xoshiro256++ generators side by side, uniform and normal
// float32 numbers.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace kw::gym {

// The same seed and the same sequence of calls (sizes included) give the same bits on every
// machine. An instance belongs to one thread. Never use it for keys: a reader of a stream's numbers
// may recover its seed. Seeds of different tensors therefore come from SecretSeeds.
class Stream {
 public:
  static constexpr std::size_t kBlock =
      64;  // words made at a time; what a call leaves over of its last block is dropped

  explicit Stream(std::uint64_t seed);

  // Independent uniform 64-bit words.
  void words(std::span<std::uint64_t> out);
  // Uniform in [0, 1), multiples of 2^-24.
  void uniform(std::span<float> out);
  // Mean 0, variance 1, tails to 6.6 sigma (Box and Muller 1958; the logarithm as 2 atanh, sine and
  // cosine as Taylor sums to float accuracy on [-pi/4, pi/4]).
  void normal(std::span<float> out);

 private:
  alignas(64) std::array<std::array<std::uint64_t, 8>, 4> state_{};  // [word of a state][generator]
};

}  // namespace kw::gym
