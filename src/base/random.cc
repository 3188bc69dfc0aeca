// xoshiro256++ and the operating system's entropy.
#include "base/random.h"

#include <bit>
#include <cmath>

#include <sys/random.h>

#include "base/check.h"

namespace kw {

std::uint64_t entropy_seed() {
  std::uint64_t seed = 0;
  KW_CHECK(getrandom(&seed, sizeof seed, 0) == static_cast<ssize_t>(sizeof seed));
  return seed;
}

namespace {

// SplitMix64's output function.
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    seed += kGolden;
    word = mixed(seed);
  }
}

Rng Rng::at(std::uint64_t seed, std::uint64_t index) {
  return Rng(mixed(mixed(seed + kGolden) + kGolden * (index + 1)));
}

std::uint64_t Rng::next() {
  std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  std::uint64_t t = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  KW_CHECK(bound > 0);
  std::uint64_t threshold = (0 - bound) % bound;
  while (true) {
    std::uint64_t r = next();
    if (r >= threshold) return r % bound;
  }
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11U) * 0x1.0p-53;
}

double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  while (true) {
    double u = 2 * uniform() - 1;
    double v = 2 * uniform() - 1;
    double s = u * u + v * v;
    if (s >= 1 || s == 0) continue;
    double scale = std::sqrt(-2 * std::log(s) / s);
    spare_ = v * scale;
    has_spare_ = true;
    return u * scale;
  }
}

}  // namespace kw
