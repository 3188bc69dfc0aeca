// Two-layer perceptron, six rows at a time: the hidden values never leave the first-level cache.
// Both weights are packed in prepare().

// flags: -fno-trapping-math
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

namespace {

using Vector = float __attribute__((vector_size(32)));

constexpr int64_t kTokens = x_0;
constexpr int64_t kTileRows = 6, kTileColumns = 16;
static_assert(width % kTileColumns == 0 && hidden % kTileColumns == 0);

struct State {
  alignas(64) float up[width * hidden];    // panels [width][16]
  alignas(64) float down[hidden * width];  // panels [hidden][16]
  alignas(64) float rows[width * kTileRows];
  alignas(64) float inner[hidden * kTileRows];
  alignas(64) float tile[kTileRows * kTileColumns];
};

// weight is [columns][depth], as torch.nn.Linear keeps it.
void pack(const float* weight, int64_t depth, int64_t columns, float* packed) {
  for (int64_t column = 0; column < columns; column += kTileColumns) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < kTileColumns; ++j) *packed++ = weight[(column + j) * depth + k];
    }
  }
}

// result[6][16] = rows[depth][6] transposed times panel[depth][16], plus bias[16].
void multiply_tile(const float* rows, const float* panel, int64_t depth, const float* bias,
                   float* result) {
  Vector sum[kTileRows][2];
  for (int64_t i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = Vector{};
  for (int64_t k = 0; k < depth; ++k, rows += kTileRows, panel += kTileColumns) {
    Vector left = *reinterpret_cast<const Vector*>(panel);
    Vector right = *reinterpret_cast<const Vector*>(panel + 8);
#pragma GCC unroll 6
    for (int64_t i = 0; i < kTileRows; ++i) {
      sum[i][0] += rows[i] * left;
      sum[i][1] += rows[i] * right;
    }
  }
  for (int64_t i = 0; i < kTileRows; ++i) {
    for (int64_t j = 0; j < kTileColumns; ++j)
      result[i * kTileColumns + j] = sum[i][j / 8][j % 8] + bias[j];
  }
}

// h * sigmoid(2 u) with u = sqrt(2 / pi) * (h + 0.044715 h^3), which is GELU's tanh form. The
// exponent is kept within [-87, 87].
inline float gelu(float h) {
  constexpr float kRound =
      12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, which stands in the low bits
  float x = -h * (1.59576912f + 0.0713548163f * h * h);
  x = std::min(std::max(x, -87.0f), 87.0f);
  float shifted = x * 1.44269504f + kRound;
  float whole = shifted - kRound;
  float r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  float exponential =
      std::bit_cast<float>(std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(shifted) << 23));
  return h / (1.0f + exponential);
}

}  // namespace

extern "C" void* prepare(const float* up_weight, const float*, const float* down_weight,
                         const float*) {
  auto* state = static_cast<State*>(std::aligned_alloc(64, sizeof(State)));
  pack(up_weight, width, hidden, state->up);
  pack(down_weight, hidden, width, state->down);
  return state;
}

extern "C" void run(void* memory, const float* x, const float*, const float* up_bias, const float*,
                    const float* down_bias, float* out) {
  auto* state = static_cast<State*>(memory);
  for (int64_t row = 0; row < kTokens; row += kTileRows) {
    int64_t height = std::min(kTileRows, kTokens - row);
    for (int64_t i = 0; i < kTileRows; ++i) {
      const float* source = x + (row + std::min(i, height - 1)) * width;
      for (int64_t k = 0; k < width; ++k) state->rows[k * kTileRows + i] = source[k];
    }
    for (int64_t column = 0; column < hidden; column += kTileColumns) {
      multiply_tile(state->rows, state->up + column * width, width, up_bias + column, state->tile);
      for (float& value : state->tile) value = gelu(value);
      for (int64_t j = 0; j < kTileColumns; ++j) {
        for (int64_t i = 0; i < kTileRows; ++i)
          state->inner[(column + j) * kTileRows + i] = state->tile[i * kTileColumns + j];
      }
    }
    for (int64_t column = 0; column < width; column += kTileColumns) {
      multiply_tile(state->inner, state->down + column * hidden, hidden, down_bias + column,
                    state->tile);
      for (int64_t i = 0; i < height; ++i) {
        for (int64_t j = 0; j < kTileColumns; ++j) {
          int64_t at = (row + i) * width + column + j;
          out[at] = x[at] + state->tile[i * kTileColumns + j];
        }
      }
    }
  }
}
