// Linear layer, batch normalisation over the batch, ReLU, 16 columns at a time: the product of a
// column block, its mean and variance and the scaling follow each other while the block is in the
// cache. The linear layer's bias cancels out.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace {

using Vector = float __attribute__((vector_size(32)));

constexpr int64_t kRows = x_0, kDepth = x_1, kColumns = out_1;
constexpr int64_t kTileRows = 6, kTileColumns = 16;
constexpr int64_t kPaddedRows = (kRows + kTileRows - 1) / kTileRows * kTileRows;
static_assert(kColumns % kTileColumns == 0);

struct State {
  alignas(64) float weight[kDepth * kColumns];          // panels [kDepth][16]
  alignas(64) float x[kPaddedRows * kDepth];            // panels [kDepth][6]
  alignas(64) float block[kPaddedRows * kTileColumns];  // one column block of the product
};

void pack_rows(const float* x, float* packed) {
  for (int64_t row = 0; row < kPaddedRows; row += kTileRows, packed += kDepth * kTileRows) {
    for (int64_t i = 0; i < kTileRows; ++i) {
      const float* source = x + std::min(row + i, kRows - 1) * kDepth;
      for (int64_t k = 0; k < kDepth; ++k) packed[k * kTileRows + i] = source[k];
    }
  }
}

void multiply_tile(const float* rows, const float* panel, float* result) {
  Vector sum[kTileRows][2];
  for (int64_t i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = Vector{};
  for (int64_t k = 0; k < kDepth; ++k, rows += kTileRows, panel += kTileColumns) {
    Vector left = *reinterpret_cast<const Vector*>(panel);
    Vector right = *reinterpret_cast<const Vector*>(panel + 8);
#pragma GCC unroll 6
    for (int64_t i = 0; i < kTileRows; ++i) {
      sum[i][0] += rows[i] * left;
      sum[i][1] += rows[i] * right;
    }
  }
  for (int64_t i = 0; i < kTileRows; ++i) {
    *reinterpret_cast<Vector*>(result + i * kTileColumns) = sum[i][0];
    *reinterpret_cast<Vector*>(result + i * kTileColumns + 8) = sum[i][1];
  }
}

// Normalises the columns of a block and writes them to out with ReLU.
void normalise(const float* block, const float* weight, const float* bias, float* out) {
  float mean[kTileColumns] = {}, variance[kTileColumns] = {}, scale[kTileColumns];
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t j = 0; j < kTileColumns; ++j) mean[j] += block[row * kTileColumns + j];
  }
  for (float& value : mean) value /= static_cast<float>(kRows);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t j = 0; j < kTileColumns; ++j) {
      float difference = block[row * kTileColumns + j] - mean[j];
      variance[j] += difference * difference;
    }
  }
  for (int64_t j = 0; j < kTileColumns; ++j) {
    scale[j] = weight[j] / std::sqrt(variance[j] / static_cast<float>(kRows) + 1e-5f);
  }
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t j = 0; j < kTileColumns; ++j) {
      float value = (block[row * kTileColumns + j] - mean[j]) * scale[j] + bias[j];
      out[row * kColumns + j] = value < 0.0f ? 0.0f : value;
    }
  }
}

}  // namespace

extern "C" void* prepare(const float* fc_weight, const float*, const float*, const float*) {
  auto* state = static_cast<State*>(std::aligned_alloc(64, sizeof(State)));
  float* packed = state->weight;
  for (int64_t column = 0; column < kColumns; column += kTileColumns) {
    for (int64_t k = 0; k < kDepth; ++k) {
      for (int64_t j = 0; j < kTileColumns; ++j) *packed++ = fc_weight[(column + j) * kDepth + k];
    }
  }
  return state;
}

extern "C" void run(void* memory, const float* x, const float*, const float*,
                    const float* bn_weight, const float* bn_bias, float* out) {
  auto* state = static_cast<State*>(memory);
  pack_rows(x, state->x);
  for (int64_t column = 0; column < kColumns; column += kTileColumns) {
    const float* panel = state->weight + column * kDepth;
    for (int64_t row = 0; row < kPaddedRows; row += kTileRows) {
      multiply_tile(state->x + row * kDepth, panel, state->block + row * kTileColumns);
    }
    normalise(state->block, bn_weight + column, bn_bias + column, out + column);
  }
}
