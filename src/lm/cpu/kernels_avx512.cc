// AVX-512; its products are in matmul_avx512.cc. Compiled with its own flags: nothing from the
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

// Heads query heads of one key and value head; d is at most Parts * 16, and just that if Whole.
// Softmax that is corrected when a larger score comes (Milakov and Gimelshein, arXiv:1805.02867),
// 16 positions at a time, from the first on: a decoded token and one of a prompt are added alike.
template <typename T, int Parts, int Heads, bool Whole>
void attend(const float* q, std::int64_t d, const T* keys, const T* values, std::int64_t positions,
            float* out) {
  __m512 query[Heads][Parts], sums[Heads][Parts];
  __mmask16 masks[Parts];
  for (int i = 0; i < Parts; ++i) {
    const std::int64_t left = d - i * kLanes;
    masks[i] = left > 0 ? tail_mask(left) : static_cast<__mmask16>(0);
  }
  auto load = [&](const auto* row, int i) __attribute__((always_inline)) {
    return load_value(row + i * kLanes, Whole ? static_cast<__mmask16>(0xFFFF) : masks[i]);
  };
  unrolled<Heads>([&](auto h) __attribute__((always_inline)) {
    unrolled<Parts>([&](auto i) __attribute__((always_inline)) {
      query[h.value][i.value] = load(q + h.value * d, i.value);
      sums[h.value][i.value] = _mm512_setzero_ps();
    });
  });
  float largest[Heads], weight[Heads];
  for (int h = 0; h < Heads; ++h) {
    largest[h] = -3.0e38F;
    weight[h] = 0;
  }
  for (std::int64_t first = 0; first < positions; first += kLanes) {
    const std::int64_t left = positions - first;
    const int here = left < kLanes ? static_cast<int>(left) : kLanes;
    __m512 quarters[Heads][4];
    unrolled<4>([&](auto four) __attribute__((always_inline)) {
      __m512 dots[Heads][4];
      unrolled<4>([&](auto one) __attribute__((always_inline)) {
        // Past the end the last position again; it is masked below.
        const std::int64_t j = four.value * 4 + one.value;
        const T* key = keys + (first + (j < left ? j : left - 1)) * d;
        unrolled<Heads>([&](auto h) __attribute__((always_inline)) {
          dots[h.value][one.value] = _mm512_setzero_ps();
        });
        unrolled<Parts>([&](auto i) __attribute__((always_inline)) {
          const __m512 part = load(key, i.value);
          unrolled<Heads>([&](auto h) __attribute__((always_inline)) {
            dots[h.value][one.value] =
                _mm512_fmadd_ps(query[h.value][i.value], part, dots[h.value][one.value]);
          });
        });
      });
      unrolled<Heads>([&](auto h) __attribute__((always_inline)) {
        const auto& of = dots[h.value];
        quarters[h.value][four.value] = quarters_of(of[0], of[1], of[2], of[3]);
      });
    });
    alignas(64) float shares[Heads][kLanes];
    unrolled<Heads>([&](auto head) __attribute__((always_inline)) {
      constexpr int h = head.value;
      const __mmask16 there = tail_mask(here);
      const __m512 s = _mm512_mask_mov_ps(
          _mm512_set1_ps(-3.0e38F), there,
          sums_of_quarters(quarters[h][0], quarters[h][1], quarters[h][2], quarters[h][3]));
      const float highest = _mm512_reduce_max_ps(s);
      if (highest > largest[h]) {
        const __m512 correction = exp_of(_mm512_set1_ps(largest[h] - highest));
        unrolled<Parts>([&](auto i) __attribute__((always_inline)) {
          sums[h][i.value] = _mm512_mul_ps(sums[h][i.value], correction);
        });
        weight[h] *= _mm512_cvtss_f32(correction);
        largest[h] = highest;
      }
      const __m512 p =
          _mm512_maskz_mov_ps(there, exp_of(_mm512_sub_ps(s, _mm512_set1_ps(largest[h]))));
      weight[h] += _mm512_reduce_add_ps(p);
      _mm512_store_ps(shares[h], p);
    });
    for (int j = 0; j < here; ++j) {
      const T* value = values + (first + j) * d;
      unrolled<Parts>([&](auto i) __attribute__((always_inline)) {
        const __m512 part = load(value, i.value);
        unrolled<Heads>([&](auto h) __attribute__((always_inline)) {
          sums[h.value][i.value] =
              _mm512_fmadd_ps(_mm512_set1_ps(shares[h.value][j]), part, sums[h.value][i.value]);
        });
      });
    }
  }
  unrolled<Heads>([&](auto h) __attribute__((always_inline)) {
    const __m512 total = _mm512_set1_ps(weight[h.value]);
    unrolled<Parts>([&](auto i) __attribute__((always_inline)) {
      _mm512_mask_storeu_ps(out + h.value * d + i.value * kLanes, masks[i.value],
                            _mm512_div_ps(sums[h.value][i.value], total));
    });
  });
}

// Two query heads at a time: a key or value is loaded once for both.
template <typename T, int Parts, bool Whole>
void attend_group(const float* q, std::int64_t group, std::int64_t d, const T* keys,
                  const T* values, std::int64_t positions, float* out) {
  std::int64_t g = 0;
  for (; g + 2 <= group; g += 2)
    attend<T, Parts, 2, Whole>(q + g * d, d, keys, values, positions, out + g * d);
  if (g < group) attend<T, Parts, 1, Whole>(q + g * d, d, keys, values, positions, out + g * d);
}

template <typename T>
void attention(const float* q, std::int64_t group, std::int64_t d, const T* keys, const T* values,
               std::int64_t positions, float* out) {
  auto* run = attend_group<T, kMaxHeadDim / kLanes, false>;
  if (d <= 128) run = d == 128 ? attend_group<T, 8, true> : attend_group<T, 8, false>;
  if (d <= 64) run = d == 64 ? attend_group<T, 4, true> : attend_group<T, 4, false>;
  run(q, group, d, keys, values, positions, out);
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
                        avx512_products::matmul_f32,
                        avx512_products::matmul_bf16,
                        avx512_products::matmul_int8,
                        to_bf16,
                        rms_norm,
                        silu_multiply,
                        attention<float>,
                        attention<std::uint16_t>,
                        row_statistics,
                        exponentials};

}  // namespace kw::lm::cpu
