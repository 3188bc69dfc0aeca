// Sums of vectors of 16, all added in the same tree: lanes i and i + 2 of a quarter, those two,
// then quarters 0 and 2, 1 and 3, and those two.
#pragma once
#include <immintrin.h>

namespace kw::lm::cpu {

// In each quarter the sums of four neighbours of a, b, c and d.
[[gnu::target("avx512f,avx512dq")]] inline __m512 quarters_of(__m512 a, __m512 b, __m512 c,
                                                              __m512 d) {
  __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  return _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
}

// The four quarters: (0 + 2) + (1 + 3).
[[gnu::target("avx512f,avx512dq")]] inline __m128 sum_of_quarters(__m512 v) {
  __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

// The same of four vectors, one in each quarter of the result.
[[gnu::target("avx512f,avx512dq")]] inline __m512 sums_of_quarters(__m512 a, __m512 b, __m512 c,
                                                                   __m512 d) {
  __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
  __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xEE));
  return _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
}

}  // namespace kw::lm::cpu
