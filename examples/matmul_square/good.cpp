// Square matrix product, cache-blocked: tiles of 6 x 16 results stay in registers, both operands
// are packed so that a tile's inner loop reads memory in order.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using Vector = float __attribute__((vector_size(32)));

constexpr int64_t kTileRows = 6,
                  kTileColumns = 16;  // 12 accumulators, which fill the 16 vector registers of AVX2
constexpr int64_t kDepth = 256;       // terms summed in one go: a packed panel of b takes 16 KB
constexpr int64_t kBlockRows = 96;  // rows of a packed at a time: 96 KB, for the second-level cache

// b[first_k .. +depth][all columns] as panels [depth][16], padded with zeros.
void pack_b(const float* b, int64_t n, int64_t first_k, int64_t depth, float* packed) {
  for (int64_t column = 0; column < n; column += kTileColumns) {
    int64_t width = std::min(kTileColumns, n - column);
    for (int64_t k = 0; k < depth; ++k, packed += kTileColumns) {
      const float* source = b + (first_k + k) * n + column;
      for (int64_t i = 0; i < width; ++i) packed[i] = source[i];
      for (int64_t i = width; i < kTileColumns; ++i) packed[i] = 0.0f;
    }
  }
}

// a[first_row .. +rows][first_k .. +depth] as panels [depth][6], padded with zeros.
void pack_a(const float* a, int64_t n, int64_t rows, int64_t depth, float* packed) {
  for (int64_t row = 0; row < rows; row += kTileRows, packed += depth * kTileRows) {
    int64_t height = std::min(kTileRows, rows - row);
    for (int64_t i = 0; i < kTileRows; ++i) {
      const float* source = a + (row + i) * n;
      for (int64_t k = 0; k < depth; ++k) packed[k * kTileRows + i] = i < height ? source[k] : 0.0f;
    }
  }
}

// Adds the product of two panels to a [6][16] tile at c with the given row stride.
void multiply_tile(const float* a, const float* b, int64_t depth, float* c, int64_t stride) {
  Vector sum[kTileRows][2];
  for (int64_t i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = Vector{};
  for (int64_t k = 0; k < depth; ++k, a += kTileRows, b += kTileColumns) {
    Vector left = *reinterpret_cast<const Vector*>(b);
    Vector right = *reinterpret_cast<const Vector*>(b + 8);
#pragma GCC unroll 6
    for (int64_t i = 0; i < kTileRows; ++i) {
      sum[i][0] += a[i] * left;
      sum[i][1] += a[i] * right;
    }
  }
  for (int64_t i = 0; i < kTileRows; ++i) {
    for (int64_t j = 0; j < kTileColumns; ++j) c[i * stride + j] += sum[i][j / 8][j % 8];
  }
}

// The same at an edge, where only height x width results exist.
void multiply_edge(const float* a, const float* b, int64_t depth, float* c, int64_t stride,
                   int64_t height, int64_t width) {
  float tile[kTileRows * kTileColumns] = {};
  multiply_tile(a, b, depth, tile, kTileColumns);
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) c[i * stride + j] += tile[i * kTileColumns + j];
  }
}

struct AlignedBuffer {
  std::vector<float> storage;
  float* get(int64_t size) {
    if (storage.size() < static_cast<std::size_t>(size) + 16)
      storage.resize(static_cast<std::size_t>(size) + 16);
    return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(storage.data()) + 63) / 64 *
                                    64);
  }
};

}  // namespace

extern "C" void run(const float* a, const float* b, float* c, int64_t N) {
  static AlignedBuffer buffer_a,
      buffer_b;  // scratch memory, kept so that its pages are touched once
  const int64_t panels = (N + kTileColumns - 1) / kTileColumns;
  float* packed_b = buffer_b.get(panels * kTileColumns * kDepth);
  float* packed_a = buffer_a.get(kBlockRows * kDepth);
  std::fill(c, c + N * N, 0.0f);
  for (int64_t first_k = 0; first_k < N; first_k += kDepth) {
    const int64_t depth = std::min(kDepth, N - first_k);
    pack_b(b, N, first_k, depth, packed_b);
    for (int64_t block = 0; block < N; block += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, N - block);
      pack_a(a + block * N + first_k, N, rows, depth, packed_a);
      for (int64_t column = 0; column < N; column += kTileColumns) {
        const float* panel_b = packed_b + column * depth;
        const int64_t width = std::min(kTileColumns, N - column);
        for (int64_t row = 0; row < rows; row += kTileRows) {
          const float* panel_a = packed_a + row * depth;
          const int64_t height = std::min(kTileRows, rows - row);
          float* target = c + (block + row) * N + column;
          if (height == kTileRows && width == kTileColumns) {
            multiply_tile(panel_a, panel_b, depth, target, N);
          } else {
            multiply_edge(panel_a, panel_b, depth, target, N, height, width);
          }
        }
      }
    }
  }
}
