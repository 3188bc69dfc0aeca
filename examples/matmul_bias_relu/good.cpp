// relu(x @ weight + bias): the weight is packed once in prepare(), bias and ReLU are applied while
// a 6 x 16 tile is still in registers.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

using Vector = float __attribute__((vector_size(32)));

constexpr int64_t kTileRows = 6, kTileColumns = 16;
static_assert(N % kTileColumns == 0);

struct State {
  alignas(64) float weight[K * N];        // panels [K][16]
  alignas(64) float rows[K * kTileRows];  // rows of x at hand, [K][6]
};

// One tile: rows packed [K][6], a panel of the weight, the panel's 16 biases.
void multiply_tile(const float* rows, const float* panel, const float* bias, float* y,
                   int64_t height) {
  Vector sum[kTileRows][2];
  for (int64_t i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = Vector{};
  for (int64_t k = 0; k < K; ++k, rows += kTileRows, panel += kTileColumns) {
    Vector left = *reinterpret_cast<const Vector*>(panel);
    Vector right = *reinterpret_cast<const Vector*>(panel + 8);
#pragma GCC unroll 6
    for (int64_t i = 0; i < kTileRows; ++i) {
      sum[i][0] += rows[i] * left;
      sum[i][1] += rows[i] * right;
    }
  }
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < kTileColumns; ++j) {
      float value = sum[i][j / 8][j % 8] + bias[j];
      y[i * N + j] = value < 0.0f ? 0.0f : value;
    }
  }
}

}  // namespace

extern "C" void* prepare(const float* weight, const float*, int64_t) {
  auto* state = static_cast<State*>(std::aligned_alloc(64, sizeof(State)));
  float* packed = state->weight;
  for (int64_t column = 0; column < N; column += kTileColumns) {
    for (int64_t k = 0; k < K; ++k, packed += kTileColumns) {
      std::copy_n(weight + k * N + column, kTileColumns, packed);
    }
  }
  return state;
}

extern "C" void run(void* memory, const float* x, const float*, const float* bias, float* y,
                    int64_t M) {
  auto* state = static_cast<State*>(memory);
  for (int64_t row = 0; row < M; row += kTileRows) {
    int64_t height = std::min(kTileRows, M - row);
    for (int64_t i = 0; i < kTileRows; ++i) {
      const float* source = x + (row + std::min(i, height - 1)) * K;
      for (int64_t k = 0; k < K; ++k) state->rows[k * kTileRows + i] = source[k];
    }
    for (int64_t column = 0; column < N; column += kTileColumns) {
      multiply_tile(state->rows, state->weight + column * K, bias + column, y + row * N + column,
                    height);
    }
  }
}
