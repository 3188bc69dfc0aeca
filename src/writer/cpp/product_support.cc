#include "writer/cpp/product_support.h"

#include <fmt/format.h>

namespace kw::writer {
namespace {

// As many as the registers hold, beside the vectors of a row and the number that multiplies them.
std::string tile_rows(const CppTuning& tuning) {
  if (tuning.tile_rows > 0) return fmt::format("{}", tuning.tile_rows);
  return "std::min(14, (kw_registers - Vectors - 1) / Vectors)";
}

constexpr std::string_view kProducts = R"text(// Memory kept between calls, a piece for each Slot.
template <typename T, int Slot>
T* kw_memory(int64_t count) {
  static std::vector<T> memory;
  const std::size_t wanted = static_cast<std::size_t>(count) + 64 / sizeof(T);
  if (memory.size() < wanted) memory.resize(wanted);
  return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 / sizeof(T);
}

// to[k * width + i] = data[(first + i) * outer + (start + k) * depth] for i < count, 0 behind.
template <typename T>
struct kw_strided {
  const T* data;
  int64_t outer, depth;
  void fill(T* to, int64_t width, int64_t first, int64_t count, int64_t start, int64_t steps) const {
    const T* from = data + first * outer + start * depth;
    if (outer == 1) {
      using Vector = typename kw_vector<T>::type;
      constexpr int lanes = kw_vector<T>::lanes;
      for (int64_t k = 0; k < steps; ++k) {
        int64_t i = 0;
        for (; i + lanes <= count; i += lanes) *reinterpret_cast<Vector*>(to + k * width + i) = *reinterpret_cast<const Vector*>(from + k * depth + i);
        for (; i < count; ++i) to[k * width + i] = from[k * depth + i];
        for (; i < width; ++i) to[k * width + i] = 0;
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

// sums[i][j] (+)= sum over k of a[i * row + k * step] * b[k * width + j], with Panel: of a[i + k * Panel] * ..
// With offsets: b[offsets[k] + j].
template <typename T, int Rows, int Vectors, int Panel>
inline void kw_tile(int64_t steps, const T* a, int64_t row, int64_t step, const T* b, int64_t width, const int64_t* offsets, T* sums, bool add) {
  using Vector = typename kw_vector<T>::type;
  constexpr int lanes = kw_vector<T>::lanes;
  Vector sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sum[i][j] = add ? *reinterpret_cast<const Vector*>(sums + (i * Vectors + j) * lanes) : Vector{};
#pragma GCC unroll 2
  for (int64_t k = 0; k < steps; ++k) {
    Vector right[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      Vector one = *reinterpret_cast<const Vector*>(b + (offsets != nullptr ? offsets[k] : k * width) + j * lanes);
#if defined(__x86_64__)
      if constexpr (Rows > 1) asm("" : "+x"(one));  // loaded once: else each row reads it from memory
#endif
      right[j] = one;
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const T left = Panel > 0 ? a[i + k * Panel] : a[i * row + k * step];
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
template <typename T, int Rows, int Vectors, int Panel>
inline void kw_tiles(int64_t rows, int64_t steps, const T* a, int64_t row, int64_t step, const T* b, int64_t width, const int64_t* offsets, T* sums, bool add) {
  constexpr int each = Vectors * kw_vector<T>::lanes;
  for (; rows >= Rows; rows -= Rows, a += Rows * (Panel > 0 ? 1 : row), sums += Rows * each)
    kw_tile<T, Rows, Vectors, Panel>(steps, a, row, step, b, width, offsets, sums, add);
  if constexpr (Rows > 1) {
    if (rows > 0) kw_tiles<T, Rows / 2, Vectors, Panel>(rows, steps, a, row, step, b, width, offsets, sums, add);
  }
}

// One row meets each element once: nothing is copied, and the matrix is read in its order, some lines side by side.
template <typename T, typename Store>
inline void kw_row_product(int64_t columns, int64_t depth, const T* a, int64_t step, const T* b, int64_t row, const Store& store) {
  using Vector = typename kw_vector<T>::type;
  constexpr int64_t lanes = kw_vector<T>::lanes, chunk = 2048, lines = 4;
  T* const sums = kw_memory<T, 2>(chunk);
  for (int64_t n = 0; n < columns; n += chunk) {
    const int64_t count = std::min(chunk, columns - n), whole = count / lanes * lanes;
    std::fill_n(sums, count, T(0));
    for (int64_t k = 0; k < depth; k += lines) {
      const int64_t here = std::min(lines, depth - k);
      const T* const from = b + k * row + n;
      if (here < lines) {
        for (int64_t line = 0; line < here; ++line) {
          const T left = a[(k + line) * step];
          for (int64_t i = 0; i < count; ++i) sums[i] += left * from[line * row + i];
        }
        continue;
      }
      T left[lines];
#pragma GCC unroll 8
      for (int64_t line = 0; line < lines; ++line) left[line] = a[(k + line) * step];
      for (int64_t i = 0; i < whole; i += lanes) {
        Vector sum = *reinterpret_cast<const Vector*>(sums + i);
#pragma GCC unroll 8
        for (int64_t line = 0; line < lines; ++line) sum += left[line] * *reinterpret_cast<const Vector*>(from + line * row + i);
        *reinterpret_cast<Vector*>(sums + i) = sum;
      }
      for (int64_t i = whole; i < count; ++i) {
        for (int64_t line = 0; line < lines; ++line) sums[i] += left[line] * from[line * row + i];
      }
    }
    store(0, n, 1, count, count, sums);
  }
}

// Sums of products on register tiles (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008):
// panels of b, and of a where its rows are far apart, are copied into the order in which they are read.
// store(first row, first column, rows, columns, width, sums): sums has a row every `width` elements.
template <typename T, int Vectors, int DepthBlock, int ColumnBlock, typename A, typename B, typename Store>
inline void kw_product(int64_t rows, int64_t columns, int64_t depth, const A& a, const B& b, const Store& store) {
  constexpr int64_t width = Vectors * kw_vector<T>::lanes, panel = kw_tile_rows<Vectors>;
  const int64_t parts = std::max<int64_t>(1, (depth + DepthBlock - 1) / DepthBlock);
  const int64_t steps_each = (depth + parts - 1) / parts;
  const int64_t row_block = parts == 1 ? rows : std::min<int64_t>(rows, panel * 100);
  const int64_t panels = (row_block + panel - 1) / panel;
  bool in_place = false;
  if constexpr (requires { a.data; b.data; }) {
    if (rows == 1 && b.outer == 1) return kw_row_product<T>(columns, depth, a.data, a.depth, b.data, b.depth, store);
  }
  if constexpr (requires { a.data; })
    in_place = columns <= 2 * width || (a.outer * sizeof(T) % 1024 != 0 && columns <= 8 * width);
  // The panels of a are copied once for all columns where they are not too many to keep.
  const bool keeps = !in_place && columns > ColumnBlock * width && panels * panel * parts * steps_each <= (int64_t{1} << 22);
  T* const right = kw_memory<T, 0>(steps_each * ColumnBlock * width);
  T* const left = kw_memory<T, 1>((keeps ? panels * parts : 1) * steps_each * panel + kw_vector<T>::lanes);
  T* const sums = kw_memory<T, 2>(parts == 1 ? panel * width : (row_block + panel) * ColumnBlock * width);
  for (int64_t m0 = 0; m0 < rows; m0 += row_block) {
    const int64_t m1 = std::min(rows, m0 + row_block);
    for (int64_t n0 = 0; n0 < columns; n0 += ColumnBlock * width) {
      const int64_t n1 = std::min(columns, n0 + ColumnBlock * width);
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t k0 = part * steps_each, steps = std::min(depth - k0, steps_each);
        for (int64_t n = n0; n < n1; n += width)
          b.fill(right + (n - n0) * steps, width, n, std::min(width, n1 - n), k0, steps);
        for (int64_t m = m0; m < m1; m += panel) {
          const int64_t count = std::min(panel, m1 - m);
          T* const mine = keeps ? left + (part * panels + (m - m0) / panel) * steps_each * panel : left;
          if (!in_place && (!keeps || n0 == 0)) a.fill(mine, panel, m, count, k0, steps);
          for (int64_t n = n0; n < n1; n += width) {
            T* const tile = parts == 1 ? sums : sums + (m - m0) * ColumnBlock * width + (n - n0) * panel;
            const T* const from = right + (n - n0) * steps;
            if (!in_place) kw_tiles<T, panel, Vectors, panel>(count, steps, mine, 1, panel, from, width, nullptr, tile, part > 0);
            if constexpr (requires { a.data; }) {
              if (in_place) kw_tiles<T, panel, Vectors, 0>(count, steps, a.data + m * a.outer + k0 * a.depth, a.outer, a.depth, from, width, nullptr, tile, part > 0);
            }
            if (part + 1 == parts) store(m, n, count, std::min(width, n1 - n), width, tile);
          }
        }
      }
    }
  }
}

// The same for a right operand whose columns lie beside each other in runs of `length`, run r from data + start(r) on, and whose
// steps of the sum are `offsets` behind the first: nothing of it is copied. Up to a vector behind a run is read.
template <typename T, int Vectors, typename A, typename Start, typename Store>
inline void kw_indirect_product(int64_t rows, int64_t runs, int64_t length, int64_t depth, const A& a, const T* data, const int64_t* offsets,
                                const Start& start, const Store& store) {
  constexpr int64_t lanes = kw_vector<T>::lanes, width = Vectors * lanes, panel = kw_tile_rows<Vectors>;
  T* const left = kw_memory<T, 1>(depth * panel + lanes);
  T* const sums = kw_memory<T, 2>(panel * width);
  for (int64_t m = 0; m < rows; m += panel) {
    const int64_t count = std::min(panel, rows - m);
    a.fill(left, panel, m, count, 0, depth);
    for (int64_t run = 0; run < runs; ++run) {
      const T* const from = data + start(run);
      int64_t n = 0;
      for (; length - n > width - lanes; n += width) {
        kw_tiles<T, panel, Vectors, panel>(count, depth, left, 1, panel, from + n, 0, offsets, sums, false);
        store(m, run * length + n, count, std::min(width, length - n), width, sums);
      }
      for (; n < length; n += lanes) {
        kw_tiles<T, panel, 1, panel>(count, depth, left, 1, panel, from + n, 0, offsets, sums, false);
        store(m, run * length + n, count, std::min(lanes, length - n), lanes, sums);
      }
    }
  }
}
)text";

}  // namespace

std::string product_support(const CppTuning& tuning) {
  return fmt::format("template <int Vectors>\nconstexpr int kw_tile_rows = {};\n{}",
                     tile_rows(tuning), kProducts);
}

}  // namespace kw::writer
