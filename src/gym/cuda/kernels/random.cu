// The generators of src/gym/inputs: xoshiro256++ (Blackman and Vigna 2021), seeded by SplitMix64.
// The order of operations is the host's, and products are not contracted: so the bits are the same.
// NOLINTBEGIN: the rules are for the text of C++.

#ifndef KW_EMULATED
#define KW_KERNEL extern "C" __global__
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u64 kGolden = 0x9e3779b97f4a7c15ULL;

struct Generator {
  u64 s0, s1, s2, s3;
};

__device__ inline u64 rotated(u64 x, int bits) {
  return (x << bits) | (x >> (64 - bits));
}

__device__ inline u64 mixed(u64 z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// The number-th of the generators that a Stream has side by side; 0: also that of Rng.
__device__ inline Generator generator(u64 seed, u64 number) {
  seed += 4 * number * kGolden;
  return {mixed(seed + kGolden), mixed(seed + 2 * kGolden), mixed(seed + 3 * kGolden),
          mixed(seed + 4 * kGolden)};
}

__device__ inline u64 next(Generator& g) {
  const u64 out = rotated(g.s0 + g.s3, 23) + g.s0;
  const u64 t = g.s1 << 17;
  g.s2 ^= g.s0;
  g.s3 ^= g.s1;
  g.s1 ^= g.s2;
  g.s0 ^= g.s3;
  g.s2 ^= t;
  g.s3 = rotated(g.s3, 45);
  return out;
}

// Rng::below().
__device__ inline u64 below(Generator& g, u64 bound) {
  const u64 threshold = (0 - bound) % bound;
  while (true) {
    const u64 r = next(g);
    if (r >= threshold) return r % bound;
  }
}

// A Stream makes its words in blocks of 64: eight words from each of eight generators.
constexpr int kGenerators = 8;
constexpr int kBlockWords = 64;
constexpr int kBlockHalves = 2 * kBlockWords;

// Thread `number` of kGenerators writes its words of `blocks` blocks.
__device__ inline void make_words(Generator& g, int number, int blocks, u64* words) {
  for (int step = 0; step < blocks * (kBlockWords / kGenerators); ++step)
    words[step * kGenerators + number] = next(g);
}

__device__ inline u32 half_of(const u64* words, u32 i) {
  return (u32)(words[i / 2] >> (32 * (i & 1)));
}

__device__ inline float as_float(u32 bits) {
  return __uint_as_float(bits);
}
__device__ inline u32 as_bits(float x) {
  return __float_as_uint(x);
}

// std::min and std::max.
__device__ inline float lesser(float a, float b) {
  return b < a ? b : a;
}
__device__ inline float greater(float a, float b) {
  return a < b ? b : a;
}

__device__ inline float uniform_of(u32 half) {
  return (float)(int)(half >> 8) * 0x1p-24F;
}

// inputs/stream.cc: the radius of Box and Muller.
__device__ inline float radius(u32 random) {
  const float u = ((float)(int)(random >> 1) + 0.5F) * 0x1p-31F;
  const int bits = (int)as_bits(u);
  const int exponent = (bits - 0x3f3504f3) >> 23;
  const float mantissa = as_float((u32)(bits - exponent * 0x800000));
  const float s = (mantissa - 1.0F) / (mantissa + 1.0F);
  const float s2 = s * s;
  const float log_mantissa =
      2.0F * s * (1.0F + s2 * (1.0F / 3 + s2 * (1.0F / 5 + s2 * (1.0F / 7))));
  const float log_u = (float)exponent * 0.693147180559945F + log_mantissa;
  return sqrtf(greater(-2.0F * log_u, 0.0F));
}

__device__ inline void normal_pair(u32 random0, u32 random1, float& first, float& second) {
  const float x = (float)(int)(random1 & ~3U) * (0.785398163F * 0x1p-31F);
  const float x2 = x * x;
  const float sine =
      x * (1.0F - x2 * (1.0F / 6 - x2 * (1.0F / 120 - x2 * (1.0F / 5040 - x2 * (1.0F / 362880)))));
  const float cosine =
      1.0F - x2 * (0.5F - x2 * (1.0F / 24 - x2 * (1.0F / 720 - x2 * (1.0F / 40320))));
  const u32 c = as_bits(cosine) ^ (random1 << 31);
  const u32 s = as_bits(sine);
  const u32 exchange = (c ^ s) & (0U - ((random1 >> 1) & 1U));
  const float r = radius(random0);
  first = r * as_float(c ^ exchange);
  second = r * as_float(s ^ exchange);
}
// NOLINTEND
