// Random numbers as parameters, never globals: the same seed gives the same bytes. entropy_seed()
// is the only source of secrets.
#pragma once
#include <array>
#include <cstdint>

namespace kw {

// 64 bits from the operating system; aborts when it has none (a guessable secret would be worse).
std::uint64_t entropy_seed();

// xoshiro256++ seeded by SplitMix64 (Blackman and Vigna). Not for keys; one instance belongs to one
// thread.
class Rng {
 public:
  using result_type = std::uint64_t;
  explicit Rng(std::uint64_t seed);
  // The generator of place `index` of the stream `seed`: found without those before it.
  static Rng at(std::uint64_t seed, std::uint64_t index);

  std::uint64_t next();
  std::uint64_t operator()() { return next(); }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }

  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), bound > 0, without bias
  double uniform();                          // [0, 1)
  double normal();                           // mean 0, variance 1 (polar method)
  Rng fork() { return Rng(next()); }         // an independent stream

 private:
  std::array<std::uint64_t, 4> state_{};
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace kw
