// Theory of operation. k is cut into parts whose length depends on k alone. A part of an element is
// 16 sums, one a lane, added in one tree; the element is the sum of its parts in their order, times
// its scale. So it is the same in every tile, path and batch.
//
// Tiles of 4 x 4 elements keep their sums in registers. Few rows of x: a tile walks along all of k,
// for the weights come from memory. Many rows: a part of a block of w stays in the second cache,
// and beside it a part of 8 rows of x, copied side by side, in the first one.
//
// Compiled with its own flags: nothing from the standard library may be instantiated here, for the
// linker could take it for the whole program.
#include "lm/cpu/matmul_avx512.h"

#include <immintrin.h>

#include "lm/cpu/sums_avx512.h"
#include "lm/cpu/unrolled.h"

namespace kw::lm::cpu::avx512_matmul {
namespace {

constexpr std::int64_t kPartBytes = 2048, kNearRows = 8, kWideRows = 64, kFewRows = 4;
constexpr std::int64_t kLine = 64;  // bytes that are fetched at once

inline __m512bh as_bf16(__m512i bits) {
  return (__m512bh)bits;
}

// The kinds of matmuls: how a step of k is loaded and added.
struct Float32 {
  using X = float;
  using W = float;
  static constexpr std::int64_t kStep = 16;
  using V = __m512;
  static V load_x(const X* p, __mmask32 mask) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p);
  }
  static V load_w(const W* p, __mmask32 mask) { return load_x(p, mask); }
  static __m512 add(__m512 sum, V x, V w) { return _mm512_fmadd_ps(x, w, sum); }
};

struct BFloat16 {
  using X = std::uint16_t;
  using W = std::uint16_t;
  static constexpr std::int64_t kStep = 32;
  using V = __m512bh;
  static V load_x(const X* p, __mmask32 mask) { return as_bf16(_mm512_maskz_loadu_epi16(mask, p)); }
  static V load_w(const W* p, __mmask32 mask) { return load_x(p, mask); }
  static __m512 add(__m512 sum, V x, V w) { return _mm512_dpbf16_ps(sum, x, w); }
};

// Whole numbers to 127 are exact in bf16.
struct Int8 {
  using X = std::uint16_t;
  using W = std::int8_t;
  static constexpr std::int64_t kStep = 32;
  using V = __m512bh;
  static V load_x(const X* p, __mmask32 mask) { return BFloat16::load_x(p, mask); }
  static V load_w(const W* p, __mmask32 mask) {
    __m256i bytes = _mm256_maskz_loadu_epi8(mask, p);
    __m512 low = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_castsi256_si128(bytes)));
    __m512 high = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_extracti128_si256(bytes, 1)));
    return _mm512_cvtne2ps_pbh(high, low);
  }
  static __m512 add(__m512 sum, V x, V w) { return _mm512_dpbf16_ps(sum, x, w); }
};

template <typename Kind>
constexpr std::int64_t kMaxPart = kPartBytes / static_cast<std::int64_t>(sizeof(typename Kind::X));

// Length of all parts but the last.
template <typename Kind>
std::int64_t part_of(std::int64_t k) {
  const std::int64_t parts = (k + kMaxPart<Kind> - 1) / kMaxPart<Kind>;
  return ((k + parts - 1) / parts + 31) / 32 * 32;
}

// Memory that is fetched while something else is computed, in the order of its addresses: rows of
// `bytes`, `stride` apart.
struct Fetch {
  const char* row = nullptr;
  std::int64_t rows = 0, bytes = 0, stride = 0;
  std::int64_t at = 0;  // in the row

  [[gnu::always_inline]] inline void line() {
    _mm_prefetch(row + at, _MM_HINT_T1);
    at += kLine;
    if (at >= bytes) {
      at = 0;
      row += stride;
      --rows;
    }
  }
};

// One part of a block: rows of x and w begin at the part.
template <typename Kind>
struct Part {
  const typename Kind::X* x;
  std::int64_t x_stride;
  const typename Kind::W* w;
  std::int64_t w_stride, length;
  const std::uint16_t* scales;  // of w's rows, of the last part of int8 only
  bool first;                   // nothing is in y yet
};

inline void put4(float* y, __m128 sums, const std::uint16_t* scales, bool first) {
  if (!first) sums = _mm_add_ps(_mm_loadu_ps(y), sums);
  if (scales != nullptr)
    sums =
        _mm_mul_ps(sums, _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales))));
  _mm_storeu_ps(y, sums);
}

inline void put1(float* y, __m128 sums, const std::uint16_t* scales, bool first) {
  if (!first) sums = _mm_add_ss(_mm_load_ss(y), sums);
  if (scales != nullptr) sums = _mm_mul_ss(sums, _mm_cvtph_ps(_mm_cvtsi32_si128(*scales)));
  _mm_store_ss(y, sums);
}

// Fetches `lines` lines a step.
template <typename Kind, int rows, int columns, int lines>
void tile(const Part<Kind>& part, Fetch& ahead, float* y, std::int64_t y_stride) {
  __m512 sums[rows][columns];
  unrolled<rows>([&](auto m) __attribute__((always_inline)) {
    unrolled<columns>([&](auto n) __attribute__((always_inline)) {
      sums[m.kValue][n.kValue] = _mm512_setzero_ps();
    });
  });
  const typename Kind::X* const x = part.x;
  const typename Kind::W* const w = part.w;
  const std::int64_t x_stride = part.x_stride, w_stride = part.w_stride, length = part.length;
  Fetch fetch = ahead;
  auto step = [&](std::int64_t at, __mmask32 mask) __attribute__((always_inline)) {
    typename Kind::V wide[columns];
    unrolled<lines>([&](auto) __attribute__((always_inline)) { fetch.line(); });
    unrolled<columns>([&](auto n) __attribute__((always_inline)) {
      wide[n.kValue] = Kind::load_w(w + n.kValue * w_stride + at, mask);
    });
    unrolled<rows>([&](auto m) __attribute__((always_inline)) {
      typename Kind::V one = Kind::load_x(x + m.kValue * x_stride + at, mask);
      unrolled<columns>([&](auto n) __attribute__((always_inline)) {
        sums[m.kValue][n.kValue] = Kind::add(sums[m.kValue][n.kValue], one, wide[n.kValue]);
      });
    });
  };
  std::int64_t at = 0;
  for (; at + Kind::kStep <= length; at += Kind::kStep) step(at, ~__mmask32{0});
  if (at < length) step(at, (__mmask32{1} << static_cast<unsigned>(length - at)) - 1);
  ahead = fetch;

  if constexpr (columns == 1) {
    const __m512 zero = _mm512_setzero_ps();
    unrolled<rows>([&](auto m) __attribute__((always_inline)) {
      put1(y + m.kValue * y_stride,
           sum_of_quarters(quarters_of(sums[m.kValue][0], zero, zero, zero)), part.scales,
           part.first);
    });
  } else {
    unrolled<columns / 4>([&](auto four) __attribute__((always_inline)) {
      constexpr int kFirst = four.kValue * 4;
      const std::uint16_t* scales = part.scales == nullptr ? nullptr : part.scales + kFirst;
      __m512 quarters[rows];
      unrolled<rows>([&](auto m) __attribute__((always_inline)) {
        const auto& of = sums[m.kValue];
        quarters[m.kValue] =
            quarters_of(of[kFirst], of[kFirst + 1], of[kFirst + 2], of[kFirst + 3]);
      });
      if constexpr (rows == 4) {
        __m512 all = sums_of_quarters(quarters[0], quarters[1], quarters[2], quarters[3]);
        unrolled<4>([&](auto m) __attribute__((always_inline)) {
          put4(y + m.kValue * y_stride + kFirst, _mm512_extractf32x4_ps(all, m.kValue), scales,
               part.first);
        });
      } else {
        unrolled<rows>([&](auto m) __attribute__((always_inline)) {
          put4(y + m.kValue * y_stride + kFirst, sum_of_quarters(quarters[m.kValue]), scales,
               part.first);
        });
      }
    });
  }
}

template <typename Kind, int columns, int lines>
void rows_of_tile(const Part<Kind>& part, std::int64_t here, Fetch& ahead, float* y,
                  std::int64_t y_stride) {
  switch (here) {
    case 1:
      return tile<Kind, 1, columns, lines>(part, ahead, y, y_stride);
    case 2:
      return tile<Kind, 2, columns, lines>(part, ahead, y, y_stride);
    case 3:
      return tile<Kind, 3, columns, lines>(part, ahead, y, y_stride);
    default:
      return tile<Kind, 4, columns, lines>(part, ahead, y, y_stride);
  }
}

// Up to kFewRows of x by `columns` rows of w from row n on, along all of k.
template <typename Kind, int columns>
void along(const Matmul<typename Kind::X, typename Kind::W>& of, std::int64_t n, Fetch& ahead) {
  constexpr std::int64_t kLines =
      columns * Kind::kStep * static_cast<std::int64_t>(sizeof(typename Kind::W)) / kLine;
  const std::int64_t length = part_of<Kind>(of.k);
  Part<Kind> part{of.x, of.k, of.w + n * of.k, of.k, 0, nullptr, false};
  for (std::int64_t at = 0; at < of.k; at += length) {
    part.first = at == 0 && !of.adds;
    part.length = of.k - at < length ? of.k - at : length;
    part.scales = of.scales != nullptr && at + length >= of.k ? of.scales + n : nullptr;
    rows_of_tile<Kind, columns, kLines>(part, of.rows, ahead, of.y + n, of.y_stride);
    part.x += length;
    part.w += length;
  }
}

template <typename Kind>
void multiply_few(const Matmul<typename Kind::X, typename Kind::W>& of) {
  if (of.rows == 0) return;  // a piece of a prompt that nothing is drawn from
  const std::int64_t wide = of.rows <= 2 ? 8 : 4;
  // A tile ahead; past the end it is what is likely to come next.
  Fetch ahead;
  ahead.row = reinterpret_cast<const char*>(of.w + (of.first + wide) * of.k);
  ahead.bytes = INT64_MAX;
  std::int64_t n = of.first;
  if (wide == 8)  // more chains of additions side by side
    for (; n + 8 <= of.last; n += 8) along<Kind, 8>(of, n, ahead);
  for (; n + 4 <= of.last; n += 4) along<Kind, 4>(of, n, ahead);
  for (; n < of.last; ++n) along<Kind, 1>(of, n, ahead);
}

// A part of `columns` rows of w by the same part of up to kNearRows of x.
template <typename Kind>
void multiply_near(Part<Kind> part, std::int64_t rows, std::int64_t columns, Fetch& ahead, float* y,
                   std::int64_t y_stride) {
  const typename Kind::X* const x = part.x;
  for (std::int64_t n = 0; n < columns;) {
    const std::int64_t wide = columns - n >= 4 ? 4 : 1;
    for (std::int64_t m = 0; m < rows;) {
      const std::int64_t left = rows - m;
      const std::int64_t here = left <= 4 ? left : (left < 8 ? (left + 1) / 2 : 4);
      part.x = x + m * part.x_stride;
      float* to = y + m * y_stride + n;
      if (wide == 1)
        rows_of_tile<Kind, 1, 0>(part, here, ahead, to, y_stride);
      else if (ahead.rows > 0)
        rows_of_tile<Kind, 4, 2>(part, here, ahead, to, y_stride);
      else
        rows_of_tile<Kind, 4, 0>(part, here, ahead, to, y_stride);
      m += here;
    }
    n += wide;
    part.w += wide * part.w_stride;
    if (part.scales != nullptr) part.scales += wide;
  }
}

template <typename X>
void copy_rows(const X* from, std::int64_t rows, std::int64_t stride, std::int64_t length, X* to,
               std::int64_t to_stride) {
  for (std::int64_t m = 0; m < rows; ++m)
    __builtin_memcpy(to + m * to_stride, from + m * stride,
                     static_cast<std::size_t>(length) * sizeof(X));
}

// bf16 of a part of int8 weights.
void convert_rows(const std::int8_t* from, std::int64_t rows, std::int64_t stride,
                  std::int64_t length, std::uint16_t* to, std::int64_t to_stride) {
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t at = 0; at < length; at += Int8::kStep) {
      const std::int64_t left = length - at;
      const __mmask32 mask =
          left >= Int8::kStep ? ~__mmask32{0} : (__mmask32{1} << static_cast<unsigned>(left)) - 1;
      _mm512_mask_storeu_epi16(to + n * to_stride + at, mask,
                               (__m512i)Int8::load_w(from + n * stride + at, mask));
    }
  }
}

// The rows of w that a block takes, from row n on, of the part of k that begins at `at`; past k's
// end the next block's first part, and nothing past the last row.
template <typename X, typename W>
Fetch block_at(const Matmul<X, W>& of, std::int64_t length, std::int64_t n, std::int64_t at) {
  Fetch out;
  if (at >= of.k) {
    at = 0;
    n += kWideRows;
  }
  if (n >= of.last) return out;
  out.row = reinterpret_cast<const char*>(of.w + n * of.k + at);
  out.rows = of.last - n < kWideRows ? of.last - n : kWideRows;
  out.bytes = (of.k - at < length ? of.k - at : length) * static_cast<std::int64_t>(sizeof(W));
  out.stride = of.k * static_cast<std::int64_t>(sizeof(W));
  return out;
}

// Multiplies as Kind does; W is how the weights are stored.
template <typename Kind, typename W>
void multiply_many(const Matmul<typename Kind::X, W>& of) {
  constexpr bool kConverts = sizeof(W) != sizeof(typename Kind::W);
  alignas(64) typename Kind::X near[kNearRows * kMaxPart<Kind>];
  alignas(64) typename Kind::W converted[kConverts ? kWideRows * kMaxPart<Kind> : 1];
  const std::int64_t k = of.k, length = part_of<Kind>(k);
  for (Fetch begin = block_at(of, length, of.first, 0); begin.rows > 0;) begin.line();
  for (std::int64_t n = of.first; n < of.last; n += kWideRows) {
    const std::int64_t columns = of.last - n < kWideRows ? of.last - n : kWideRows;
    for (std::int64_t at = 0; at < k; at += length) {
      Part<Kind> part{};
      part.x = near;
      part.x_stride = length;
      part.length = k - at < length ? k - at : length;
      part.first = at == 0 && !of.adds;
      part.scales = of.scales != nullptr && at + length >= k ? of.scales + n : nullptr;
      if constexpr (kConverts) {
        convert_rows(of.w + n * k + at, columns, k, part.length, converted, length);
        part.w = converted;
        part.w_stride = length;
      } else {
        part.w = of.w + n * k + at;
        part.w_stride = k;
      }
      Fetch ahead = block_at(of, length, n, at + length);
      for (std::int64_t m = 0; m < of.rows; m += kNearRows) {
        const std::int64_t here = of.rows - m < kNearRows ? of.rows - m : kNearRows;
        copy_rows(of.x + m * k + at, here, k, part.length, near, length);
        multiply_near<Kind>(part, here, columns, ahead, of.y + m * of.y_stride + n, of.y_stride);
      }
    }
  }
}

}  // namespace

void matmul_f32(const Matmul<float, float>& of) {
  (of.rows <= kFewRows ? multiply_few<Float32> : multiply_many<Float32, float>)(of);
}

void matmul_bf16(const Matmul<std::uint16_t, std::uint16_t>& of) {
  (of.rows <= kFewRows ? multiply_few<BFloat16> : multiply_many<BFloat16, std::uint16_t>)(of);
}

void matmul_int8(const Matmul<std::uint16_t, std::int8_t>& of) {
  (of.rows <= kFewRows ? multiply_few<Int8> : multiply_many<BFloat16, std::int8_t>)(of);
}

}  // namespace kw::lm::cpu::avx512_matmul
