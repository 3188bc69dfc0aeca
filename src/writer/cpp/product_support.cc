#include "writer/cpp/product_support.h"

namespace kw::writer {

// Alignment: the executor gives 64-byte aligned tensors, but rows and slices of them start
// anywhere, so vectors are of their elements' alignment.
std::string_view product_support() {
  return R"text(#if defined(__AVX512F__)
constexpr int kw_bytes = 64, kw_tile_rows = 14;
#elif defined(__AVX__)
constexpr int kw_bytes = 32, kw_tile_rows = 6;
#else
constexpr int kw_bytes = 16, kw_tile_rows = 6;
#endif
template <typename T>
struct kw_vector {
  typedef T type __attribute__((vector_size(kw_bytes), aligned(alignof(T)), may_alias));
  static constexpr int lanes = kw_bytes / sizeof(T);
};

// Memory kept between calls, a piece for each Slot.
template <typename T, int Slot>
T* kw_memory(int64_t count) {
  static std::vector<T> memory;
  const std::size_t wanted = static_cast<std::size_t>(count) + 64 / sizeof(T);
  if (memory.size() < wanted) memory.resize(wanted);
  return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 / sizeof(T);
}

// Element l of the result is a[l] or b[l], those of the other half moved by Step: one round of a transposition.
template <typename T, int Step, int... Lane>
inline void kw_exchange(typename kw_vector<T>::type& a, typename kw_vector<T>::type& b, std::integer_sequence<int, Lane...>) {
  constexpr int lanes = kw_vector<T>::lanes;
  const auto low = __builtin_shufflevector(a, b, ((Lane & Step) != 0 ? lanes + Lane - Step : Lane)...);
  b = __builtin_shufflevector(a, b, ((Lane & Step) != 0 ? lanes + Lane : Lane + Step)...);
  a = low;
}

template <typename T, int Step>
inline void kw_rounds(typename kw_vector<T>::type* rows) {
  constexpr int lanes = kw_vector<T>::lanes;
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if ((i & Step) == 0) kw_exchange<T, Step>(rows[i], rows[i + Step], std::make_integer_sequence<int, lanes>{});
  }
  if constexpr (Step > 1) kw_rounds<T, Step / 2>(rows);
}

// to[k * width + i] = from[i * outer + k] for k < lanes, i < kept; 0 for i >= rows.
template <typename T>
inline void kw_transpose(const T* from, int64_t outer, int64_t rows, T* to, int64_t width, int64_t kept) {
  using Vector = typename kw_vector<T>::type;
  constexpr int lanes = kw_vector<T>::lanes;
  Vector all[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) all[i] = i < rows ? *reinterpret_cast<const Vector*>(from + i * outer) : Vector{};
  kw_rounds<T, lanes / 2>(all);
  if (kept == lanes) {
#pragma GCC unroll 16
    for (int k = 0; k < lanes; ++k) *reinterpret_cast<Vector*>(to + k * width) = all[k];
  } else {
    for (int k = 0; k < lanes; ++k)
      for (int64_t i = 0; i < kept; ++i) to[k * width + i] = all[k][i];
  }
}

// to[k * width + i] = data[(first + i) * outer + (start + k) * depth] for i < count, 0 behind.
template <typename T>
struct kw_strided {
  const T* data;
  int64_t outer, depth;
  void fill(T* to, int64_t width, int64_t first, int64_t count, int64_t start, int64_t steps) const {
    const T* from = data + first * outer + start * depth;
    if (outer == 1) {
      if (count == width) {
        for (int64_t k = 0; k < steps; ++k) std::memcpy(to + k * width, from + k * depth, static_cast<std::size_t>(width) * sizeof(T));
        return;
      }
      for (int64_t k = 0; k < steps; ++k) {
        for (int64_t i = 0; i < count; ++i) to[k * width + i] = from[k * depth + i];
        for (int64_t i = count; i < width; ++i) to[k * width + i] = 0;
      }
      return;
    }
    int64_t i = 0;
    if (depth == 1) {
      constexpr int lanes = kw_vector<T>::lanes;
      for (; i < count && (width - i >= lanes || count <= lanes); i += lanes) {
        const int64_t rows = std::min<int64_t>(lanes, count - i);
        int64_t k = 0;
        for (; k + lanes <= steps; k += lanes)
          kw_transpose<T>(from + i * outer + k, outer, rows, to + k * width + i, width, std::min<int64_t>(lanes, width - i));
        for (; k < steps; ++k)
          for (int64_t j = 0; j < std::min<int64_t>(lanes, width - i); ++j) to[k * width + i + j] = j < rows ? from[(i + j) * outer + k] : 0;
      }
    }
    for (; i < width; ++i)
      for (int64_t k = 0; k < steps; ++k) to[k * width + i] = i < count ? from[i * outer + k * depth] : 0;
  }
};

// An operand that a function makes, as kw_strided::fill does.
template <typename T, typename Fill>
struct kw_gathered {
  const Fill& fill;
};

// sums[i][j] (+)= sum over k of a[i * row + k * step] * b[k * width + j].
// With offsets: b[offsets[k] + j].
template <typename T, int Rows, int Vectors>
inline void kw_tile(int64_t steps, const T* a, int64_t row, int64_t step, const T* b, int64_t width, const int64_t* offsets, T* sums, bool add) {
  using Vector = typename kw_vector<T>::type;
  constexpr int lanes = kw_vector<T>::lanes;
  Vector sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sum[i][j] = add ? *reinterpret_cast<const Vector*>(sums + (i * Vectors + j) * lanes) : Vector{};
  for (int64_t k = 0; k < steps; ++k) {
    Vector right[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) right[j] = *reinterpret_cast<const Vector*>(b + (offsets != nullptr ? offsets[k] : k * width) + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const T left = a[i * row + k * step];
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) sum[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) *reinterpret_cast<Vector*>(sums + (i * Vectors + j) * lanes) = sum[i][j];
}

// The rows in tiles of Rows, then of half as many.
template <typename T, int Rows, int Vectors>
inline void kw_tiles(int64_t rows, int64_t steps, const T* a, int64_t row, int64_t step, const T* b, int64_t width, const int64_t* offsets, T* sums, bool add) {
  constexpr int each = Vectors * kw_vector<T>::lanes;
  for (; rows >= Rows; rows -= Rows, a += Rows * row, sums += Rows * each)
    kw_tile<T, Rows, Vectors>(steps, a, row, step, b, width, offsets, sums, add);
  if constexpr (Rows > 1) {
    if (rows > 0) kw_tiles<T, Rows / 2, Vectors>(rows, steps, a, row, step, b, width, offsets, sums, add);
  }
}

// Sums of products on register tiles (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008):
// panels of b, and of a where its rows are far apart, are copied into the order in which they are read.
// store(first row, first column, rows, columns, width, sums): sums has a row every `width` elements.
template <typename T, int Vectors, int DepthBlock = 512, int ColumnBlock = 4, typename A, typename B, typename Store>
inline void kw_product(int64_t rows, int64_t columns, int64_t depth, const A& a, const B& b, const Store& store) {
  constexpr int64_t width = Vectors * kw_vector<T>::lanes, panel = kw_tile_rows;
  const int64_t parts = std::max<int64_t>(1, (depth + DepthBlock - 1) / DepthBlock);
  const int64_t steps_each = (depth + parts - 1) / parts;
  const int64_t row_block = parts == 1 ? rows : std::min<int64_t>(rows, panel * 100);
  int64_t first = 0;
  if constexpr (requires { a.data; b.data; }) {
    // One row meets each element once: nothing is copied.
    constexpr int64_t wide = 8 * kw_vector<T>::lanes;
    T* const sums = kw_memory<T, 2>(wide);
    for (; rows == 1 && b.outer == 1 && first + wide <= columns; first += wide) {
      kw_tile<T, 1, 8>(depth, a.data, 0, a.depth, b.data + first, b.depth, nullptr, sums, false);
      store(0, first, 1, wide, wide, sums);
    }
  }
  T* const right = kw_memory<T, 0>(steps_each * ColumnBlock * width);
  T* const left = kw_memory<T, 1>(steps_each * panel + kw_vector<T>::lanes);
  T* const sums = kw_memory<T, 2>(parts == 1 ? panel * width : (row_block + panel) * ColumnBlock * width);
  for (int64_t m0 = 0; m0 < rows; m0 += row_block) {
    const int64_t m1 = std::min(rows, m0 + row_block);
    for (int64_t n0 = first; n0 < columns; n0 += ColumnBlock * width) {
      const int64_t n1 = std::min(columns, n0 + ColumnBlock * width);
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t k0 = part * steps_each, steps = std::min(depth - k0, steps_each);
        for (int64_t n = n0; n < n1; n += width)
          b.fill(right + (n - n0) * steps, width, n, std::min(width, n1 - n), k0, steps);
        for (int64_t m = m0; m < m1; m += panel) {
          const int64_t count = std::min(panel, m1 - m);
          const T* from = left;
          int64_t row = 1, step = panel;
          bool in_place = false;
          if constexpr (requires { a.data; }) in_place = n1 - n0 <= 2 * width || (a.outer * sizeof(T) % 1024 != 0 && n1 - n0 <= 8 * width);
          if constexpr (requires { a.data; }) {
            if (in_place) from = a.data + m * a.outer + k0 * a.depth, row = a.outer, step = a.depth;
          }
          if (!in_place) a.fill(left, panel, m, count, k0, steps);
          for (int64_t n = n0; n < n1; n += width) {
            T* const mine = parts == 1 ? sums : sums + (m - m0) * ColumnBlock * width + (n - n0) * panel;
            kw_tiles<T, kw_tile_rows, Vectors>(count, steps, from, row, step, right + (n - n0) * steps, width, nullptr, mine, part > 0);
            if (part + 1 == parts) store(m, n, count, std::min(width, n1 - n), width, mine);
          }
        }
      }
    }
  }
}

// The same for a right operand whose columns lie beside each other in runs of `length`, run r from data + start(r) on, and whose
// steps of the sum are `offsets` behind the first: nothing of it is copied. Up to a vector behind a run is read.
template <typename T, typename A, typename Start, typename Store>
inline void kw_indirect_product(int64_t rows, int64_t runs, int64_t length, int64_t depth, const A& a, const T* data, const int64_t* offsets,
                                const Start& start, const Store& store) {
  constexpr int64_t lanes = kw_vector<T>::lanes, panel = kw_tile_rows;
  T* const left = kw_memory<T, 1>(depth * panel + lanes);
  T* const sums = kw_memory<T, 2>(panel * 2 * lanes);
  for (int64_t m = 0; m < rows; m += panel) {
    const int64_t count = std::min(panel, rows - m);
    a.fill(left, panel, m, count, 0, depth);
    for (int64_t run = 0; run < runs; ++run) {
      const T* const from = data + start(run);
      int64_t n = 0;
      for (; length - n > lanes; n += 2 * lanes) {
        kw_tiles<T, kw_tile_rows, 2>(count, depth, left, 1, panel, from + n, 0, offsets, sums, false);
        store(m, run * length + n, count, std::min(2 * lanes, length - n), 2 * lanes, sums);
      }
      if (n < length) {
        kw_tiles<T, kw_tile_rows, 1>(count, depth, left, 1, panel, from + n, 0, offsets, sums, false);
        store(m, run * length + n, count, length - n, lanes, sums);
      }
    }
  }
}
)text";
}

}  // namespace kw::writer
