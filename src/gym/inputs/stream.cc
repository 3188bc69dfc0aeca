// The block loops have constant trip counts and no branches, so that the compiler vectorises them.
#include "gym/inputs/stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gym/inputs/wide.h"

namespace kw::gym {
namespace {

using State = std::array<std::array<std::uint64_t, 8>, 4>;
constexpr std::size_t kWords = Stream::kBlock;
constexpr std::size_t kHalves = 2 * kWords;  // 32-bit numbers, and floats, of a block

// xoshiro256++ (Blackman and Vigna 2021), one step of all eight generators per eight words.
KW_ALWAYS_INLINE void step_words(State& state, std::uint64_t* out) {
  std::uint64_t s[4][8];
  std::memcpy(s, state.data(), sizeof s);
  for (std::size_t block = 0; block < kWords; block += 8) {
    for (std::size_t j = 0; j < 8; ++j) {
      out[block + j] = std::rotl(s[0][j] + s[3][j], 23) + s[0][j];
      std::uint64_t t = s[1][j] << 17U;
      s[2][j] ^= s[0][j];
      s[3][j] ^= s[1][j];
      s[1][j] ^= s[2][j];
      s[0][j] ^= s[3][j];
      s[2][j] ^= t;
      s[3][j] = std::rotl(s[3][j], 45);
    }
  }
  std::memcpy(state.data(), s, sizeof s);
}

// -2 ln((a + 1/2) / 2^31) for the upper 31 bits a, square root taken: the radius of Box and Muller.
KW_ALWAYS_INLINE float radius(std::uint32_t random) {
  float u = (static_cast<float>(static_cast<std::int32_t>(random >> 1U)) + 0.5F) * 0x1p-31F;
  auto bits = std::bit_cast<std::int32_t>(u);
  std::int32_t exponent =
      (bits - 0x3f3504f3) >> 23;  // so that the mantissa lies in [sqrt(1/2), sqrt(2))
  auto mantissa = std::bit_cast<float>(bits - exponent * 0x800000);
  float s = (mantissa - 1.0F) / (mantissa + 1.0F);
  float s2 = s * s;
  float log_mantissa = 2.0F * s * (1.0F + s2 * (1.0F / 3 + s2 * (1.0F / 5 + s2 * (1.0F / 7))));
  float log_u = static_cast<float>(exponent) * 0.693147180559945F + log_mantissa;
  return std::sqrt(std::max(-2.0F * log_u, 0.0F));
}

// The angle: 30 bits choose a place in [-pi/4, pi/4), two more the quadrant, by exchanging and
// negating sine and cosine.
KW_ALWAYS_INLINE void normal_pair(std::uint32_t random0, std::uint32_t random1, float& first,
                                  float& second) {
  float x =
      static_cast<float>(static_cast<std::int32_t>(random1 & ~3U)) * (0.785398163F * 0x1p-31F);
  float x2 = x * x;
  float sine =
      x * (1.0F - x2 * (1.0F / 6 - x2 * (1.0F / 120 - x2 * (1.0F / 5040 - x2 * (1.0F / 362880)))));
  float cosine = 1.0F - x2 * (0.5F - x2 * (1.0F / 24 - x2 * (1.0F / 720 - x2 * (1.0F / 40320))));
  std::uint32_t c = std::bit_cast<std::uint32_t>(cosine) ^ (random1 << 31U);
  std::uint32_t s = std::bit_cast<std::uint32_t>(sine);
  std::uint32_t exchange = (c ^ s) & (0U - ((random1 >> 1U) & 1U));
  float r = radius(random0);
  first = r * std::bit_cast<float>(c ^ exchange);
  second = r * std::bit_cast<float>(s ^ exchange);
}

KW_ALWAYS_INLINE void normal_body(State& state, float* out) {
  alignas(64) std::uint64_t words[kWords];
  alignas(64) std::uint32_t halves[kHalves];
  step_words(state, words);
  std::memcpy(halves, words, sizeof words);
  for (std::size_t i = 0; i < kWords; ++i)
    normal_pair(halves[i], halves[i + kWords], out[i], out[i + kWords]);
}

KW_ALWAYS_INLINE void uniform_body(State& state, float* out) {
  alignas(64) std::uint64_t words[kWords];
  alignas(64) std::uint32_t halves[kHalves];
  step_words(state, words);
  std::memcpy(halves, words, sizeof words);
  for (std::size_t i = 0; i < kHalves; ++i)
    out[i] = static_cast<float>(static_cast<std::int32_t>(halves[i] >> 8U)) * 0x1p-24F;
}

void words_baseline(State& state, std::uint64_t* out) {
  step_words(state, out);
}
void uniform_baseline(State& state, float* out) {
  uniform_body(state, out);
}
void normal_baseline(State& state, float* out) {
  normal_body(state, out);
}
KW_TARGET_AVX2 void words_avx2(State& state, std::uint64_t* out) {
  step_words(state, out);
}
KW_TARGET_AVX2 void uniform_avx2(State& state, float* out) {
  uniform_body(state, out);
}
KW_TARGET_AVX2 void normal_avx2(State& state, float* out) {
  normal_body(state, out);
}

template <typename T, std::size_t per_block>
void fill(State& state, std::span<T> out, void (*block)(State&, T*)) {
  std::size_t i = 0;
  for (; i + per_block <= out.size(); i += per_block) block(state, out.data() + i);
  if (i == out.size()) return;
  std::array<T, per_block> last;
  block(state, last.data());
  std::copy_n(last.begin(), out.size() - i, out.begin() + static_cast<std::ptrdiff_t>(i));
}

}  // namespace

Stream::Stream(std::uint64_t seed) {
  for (std::size_t j = 0; j < 8; ++j) {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;  // SplitMix64
      std::uint64_t z = seed;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
      word[j] = z ^ (z >> 31U);
    }
  }
}

void Stream::words(std::span<std::uint64_t> out) {
  fill<std::uint64_t, kWords>(state_, out, has_avx2() ? words_avx2 : words_baseline);
}
void Stream::uniform(std::span<float> out) {
  fill<float, kHalves>(state_, out, has_avx2() ? uniform_avx2 : uniform_baseline);
}
void Stream::normal(std::span<float> out) {
  fill<float, kHalves>(state_, out, has_avx2() ? normal_avx2 : normal_baseline);
}

}  // namespace kw::gym
