// AVX-512; its matmuls are in matmul_avx512.cc. Compiled with its own flags: nothing from the
// standard library may be instantiated here, for the linker could take it for the whole program.
#include <immintrin.h>

#include "lm/cpu/kernels.h"
#include "lm/cpu/matmul_avx512.h"
#include "lm/cpu/sums_avx512.h"
#include "lm/cpu/unrolled.h"

namespace kw::lm::cpu {
namespace {

constexpr int kLanes = 16;  // float32

inline __m512 widened(__m256i bf16) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
}

inline __mmask16 tail_mask(std::int64_t left) {
  return left >= kLanes ? static_cast<__mmask16>(0xFFFF)
                        : static_cast<__mmask16>((1U << static_cast<unsigned>(left)) - 1U);
}

void to_bf16(const float* in, std::int64_t size, std::uint16_t* out) {
  for (std::int64_t i = 0; i < size; i += kLanes) {
    __mmask16 mask = tail_mask(size - i);
    __m256bh narrow = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, in + i));
    _mm256_mask_storeu_epi16(out + i, mask, (__m256i)narrow);
  }
}

// exp with a relative error under 2^-22: 2^n times the Taylor polynomial of degree 6 on
// [-ln 2 / 2, ln 2 / 2].
inline __m512 exp_of(__m512 x) {
  const __m512 log2e = _mm512_set1_ps(1.44269504F);
  x = _mm512_max_ps(_mm512_min_ps(x, _mm512_set1_ps(88.7F)), _mm512_set1_ps(-104.0F));
  __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, log2e), _MM_FROUND_TO_NEAREST_INT);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
  __m512 p = _mm512_set1_ps(1.0F / 720);
  for (float c : {1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F})
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
  return _mm512_scalef_ps(p, n);
}

void rms_norm(const float* in, const float* weight, float epsilon, std::int64_t size, float* out) {
  __m512 squares = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < size; i += kLanes) {
    __m512 v = _mm512_maskz_loadu_ps(tail_mask(size - i), in + i);
    squares = _mm512_fmadd_ps(v, v, squares);
  }
  float mean = _mm512_reduce_add_ps(squares) / static_cast<float>(size);
  __m512 factor = _mm512_set1_ps(1.0F / __builtin_sqrtf(mean + epsilon));
  for (std::int64_t i = 0; i < size; i += kLanes) {
    __mmask16 mask = tail_mask(size - i);
    __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, in + i), factor);
    _mm512_mask_storeu_ps(out + i, mask, _mm512_mul_ps(v, _mm512_maskz_loadu_ps(mask, weight + i)));
  }
}

void silu_multiply(const float* gate, const float* up, std::int64_t size, float* out) {
  const __m512 one = _mm512_set1_ps(1);
  for (std::int64_t i = 0; i < size; i += kLanes) {
    __mmask16 mask = tail_mask(size - i);
    __m512 g = _mm512_maskz_loadu_ps(mask, gate + i);
    __m512 e = exp_of(_mm512_sub_ps(_mm512_setzero_ps(), g));
    __m512 v =
        _mm512_mul_ps(_mm512_div_ps(g, _mm512_add_ps(one, e)), _mm512_maskz_loadu_ps(mask, up + i));
    _mm512_mask_storeu_ps(out + i, mask, v);
  }
}

inline __m512 load_value(const float* p, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, p);
}
inline __m512 load_value(const std::uint16_t* p, __mmask16 mask) {
  return widened(_mm256_maskz_loadu_epi16(mask, p));
}

// The parts of a key or value: d is at most parts * 16, and just that if whole.
template <int parts, bool whole>
struct RowParts {
  __mmask16 masks[parts];

  [[gnu::always_inline]] inline explicit RowParts(std::int64_t d) {
    for (int i = 0; i < parts; ++i) {
      const std::int64_t left = d - std::int64_t{i} * kLanes;
      masks[i] = left > 0 ? tail_mask(left) : static_cast<__mmask16>(0);
    }
  }
  template <typename T>
  [[gnu::always_inline]] inline __m512 load(const T* row, int i) const {
    return load_value(row + i * kLanes, whole ? static_cast<__mmask16>(0xFFFF) : masks[i]);
  }
};

// Products of the heads' queries with the keys of 16 positions, as quarters (sums_avx512.h). Past
// the last of `left` positions the last key counts again; the caller masks those.
template <typename T, int parts, int heads, bool whole>
[[gnu::always_inline]] inline void multiply_keys(const __m512 (&query)[heads][parts],
                                                 const RowParts<parts, whole>& row, const T* keys,
                                                 std::int64_t d, std::int64_t left,
                                                 __m512 (&quarters)[heads][4]) {
  unrolled<4>([&](auto four) __attribute__((always_inline)) {
    __m512 dots[heads][4];
    unrolled<4>([&](auto one) __attribute__((always_inline)) {
      const std::int64_t j = four.kValue * 4 + one.kValue;
      const T* key = keys + (j < left ? j : left - 1) * d;
      unrolled<heads>([&](auto h) __attribute__((always_inline)) {
        dots[h.kValue][one.kValue] = _mm512_setzero_ps();
      });
      unrolled<parts>([&](auto i) __attribute__((always_inline)) {
        const __m512 part = row.load(key, i.kValue);
        unrolled<heads>([&](auto h) __attribute__((always_inline)) {
          dots[h.kValue][one.kValue] =
              _mm512_fmadd_ps(query[h.kValue][i.kValue], part, dots[h.kValue][one.kValue]);
        });
      });
    });
    unrolled<heads>([&](auto h) __attribute__((always_inline)) {
      const auto& of = dots[h.kValue];
      quarters[h.kValue][four.kValue] = quarters_of(of[0], of[1], of[2], of[3]);
    });
  });
}

// One head's softmax so far: sums are of exp(score - largest) times values, weight of exp alone.
template <int parts>
[[gnu::always_inline]] inline __m512 next_shares(const __m512 (&quarters)[4], __mmask16 there,
                                                 float& largest, float& weight,
                                                 __m512 (&sums)[parts]) {
  const __m512 s =
      _mm512_mask_mov_ps(_mm512_set1_ps(-3.0e38F), there,
                         sums_of_quarters(quarters[0], quarters[1], quarters[2], quarters[3]));
  const float highest = _mm512_reduce_max_ps(s);
  if (highest > largest) {
    const __m512 correction = exp_of(_mm512_set1_ps(largest - highest));
    unrolled<parts>([&](auto i) __attribute__((always_inline)) {
      sums[i.kValue] = _mm512_mul_ps(sums[i.kValue], correction);
    });
    weight *= _mm512_cvtss_f32(correction);
    largest = highest;
  }
  const __m512 p = _mm512_maskz_mov_ps(there, exp_of(_mm512_sub_ps(s, _mm512_set1_ps(largest))));
  weight += _mm512_reduce_add_ps(p);
  return p;
}

// `heads` query heads from row g on: a key or value is loaded once for all of them.
// Softmax that is corrected when a larger score comes (Milakov and Gimelshein, arXiv:1805.02867),
// 16 positions at a time, from the first on: a decoded token and one of a prompt are added alike.
template <typename T, int parts, int heads, bool whole>
void attend(const HeadGroup<T>& of, std::int64_t g) {
  const std::int64_t d = of.d, positions = of.positions;
  const float* q = of.q + g * d;
  float* out = of.out + g * d;
  const RowParts<parts, whole> row(d);
  __m512 query[heads][parts], sums[heads][parts];
  unrolled<heads>([&](auto h) __attribute__((always_inline)) {
    unrolled<parts>([&](auto i) __attribute__((always_inline)) {
      query[h.kValue][i.kValue] = row.load(q + h.kValue * d, i.kValue);
      sums[h.kValue][i.kValue] = _mm512_setzero_ps();
    });
  });
  float largest[heads], weight[heads];
  for (int h = 0; h < heads; ++h) {
    largest[h] = -3.0e38F;
    weight[h] = 0;
  }
  for (std::int64_t first = 0; first < positions; first += kLanes) {
    const std::int64_t left = positions - first;
    const int here = left < kLanes ? static_cast<int>(left) : kLanes;
    __m512 quarters[heads][4];
    multiply_keys<T, parts, heads, whole>(query, row, of.keys + first * d, d, left, quarters);
    alignas(64) float shares[heads][kLanes];
    unrolled<heads>([&](auto h) __attribute__((always_inline)) {
      _mm512_store_ps(shares[h.kValue],
                      next_shares<parts>(quarters[h.kValue], tail_mask(here), largest[h.kValue],
                                         weight[h.kValue], sums[h.kValue]));
    });
    for (int j = 0; j < here; ++j) {
      const T* value = of.values + (first + j) * d;
      unrolled<parts>([&](auto i) __attribute__((always_inline)) {
        const __m512 part = row.load(value, i.kValue);
        unrolled<heads>([&](auto h) __attribute__((always_inline)) {
          sums[h.kValue][i.kValue] =
              _mm512_fmadd_ps(_mm512_set1_ps(shares[h.kValue][j]), part, sums[h.kValue][i.kValue]);
        });
      });
    }
  }
  unrolled<heads>([&](auto h) __attribute__((always_inline)) {
    const __m512 total = _mm512_set1_ps(weight[h.kValue]);
    unrolled<parts>([&](auto i) __attribute__((always_inline)) {
      _mm512_mask_storeu_ps(out + h.kValue * d + i.kValue * kLanes, row.masks[i.kValue],
                            _mm512_div_ps(sums[h.kValue][i.kValue], total));
    });
  });
}

template <typename T, int parts, bool whole>
void attend_group(const HeadGroup<T>& of) {
  std::int64_t g = 0;
  for (; g + 2 <= of.group; g += 2) attend<T, parts, 2, whole>(of, g);
  if (g < of.group) attend<T, parts, 1, whole>(of, g);
}

template <typename T>
void attention(const HeadGroup<T>& of) {
  auto* run = attend_group<T, kMaxHeadDim / kLanes, false>;
  if (of.d <= 128) run = of.d == 128 ? attend_group<T, 8, true> : attend_group<T, 8, false>;
  if (of.d <= 64) run = of.d == 64 ? attend_group<T, 4, true> : attend_group<T, 4, false>;
  run(of);
}

// Sums of exps over a vocabulary are added in double, 8 lanes.
inline __m512d add_double(__m512d sum, __m512 v) {
  sum = _mm512_add_pd(sum, _mm512_cvtps_pd(_mm512_castps512_ps256(v)));
  return _mm512_add_pd(sum, _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)));
}

RowStatistics row_statistics(const float* logits, std::int64_t size, float scale) {
  const __m512 lowest = _mm512_set1_ps(-3.0e38F), factor = _mm512_set1_ps(scale);
  __m512 highest = lowest;
  for (std::int64_t i = 0; i < size; i += kLanes) {
    __mmask16 mask = tail_mask(size - i);
    highest = _mm512_mask_max_ps(highest, mask, highest,
                                 _mm512_mul_ps(factor, _mm512_maskz_loadu_ps(mask, logits + i)));
  }
  RowStatistics out;
  out.largest = _mm512_reduce_max_ps(highest);
  const __m512 largest = _mm512_set1_ps(out.largest);
  __m512d sum = _mm512_setzero_pd(), weighted = _mm512_setzero_pd();
  for (std::int64_t i = 0; i < size; i += kLanes) {
    __mmask16 mask = tail_mask(size - i);
    __m512 below =
        _mm512_sub_ps(_mm512_mul_ps(factor, _mm512_maskz_loadu_ps(mask, logits + i)), largest);
    below =
        _mm512_max_ps(below, _mm512_set1_ps(-1.0e4F));  // -inf of a masked token: 0 times it is 0
    __m512 e = _mm512_maskz_mov_ps(mask, exp_of(below));
    sum = add_double(sum, e);
    weighted = add_double(weighted, _mm512_mul_ps(e, below));
  }
  out.sum = _mm512_reduce_add_pd(sum);
  out.mean = _mm512_reduce_add_pd(weighted) / out.sum;
  return out;
}

void exponentials(const float* logits, std::int64_t size, float scale, float largest, float* out,
                  double* block_sums) {
  const __m512 factor = _mm512_set1_ps(scale), top = _mm512_set1_ps(largest);
  for (std::int64_t first = 0; first < size; first += kSumBlock) {
    const std::int64_t end = size - first < kSumBlock ? size : first + kSumBlock;
    __m512d sum = _mm512_setzero_pd();
    for (std::int64_t i = first; i < end; i += kLanes) {
      __mmask16 mask = tail_mask(end - i);
      __m512 scaled = _mm512_mul_ps(factor, _mm512_maskz_loadu_ps(mask, logits + i));
      __mmask16 there = _mm512_mask_cmp_ps_mask(mask, scaled, _mm512_set1_ps(-3.0e38F), _CMP_GT_OQ);
      __m512 e = _mm512_maskz_mov_ps(there, exp_of(_mm512_sub_ps(scaled, top)));
      _mm512_mask_storeu_ps(out + i, mask, e);
      sum = add_double(sum, e);
    }
    block_sums[first / kSumBlock] = _mm512_reduce_add_pd(sum);
  }
}

}  // namespace

extern const Kernels avx512;
const Kernels avx512 = {"avx512",
                        avx512_matmul::matmul_f32,
                        avx512_matmul::matmul_bf16,
                        avx512_matmul::matmul_int8,
                        to_bf16,
                        rms_norm,
                        silu_multiply,
                        attention<float>,
                        attention<std::uint16_t>,
                        row_statistics,
                        exponentials};

}  // namespace kw::lm::cpu
