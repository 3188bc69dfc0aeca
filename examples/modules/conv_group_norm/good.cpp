// Direct 3x3 convolution, group normalisation and SiLU, one image at a time. Four output channels
// by 24 pixels are summed in registers; the image is copied once into a frame of zeros, so that the
// edges need no cases.

// flags: -fno-trapping-math
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using Vector = float __attribute__((vector_size(32)));

constexpr int64_t kHeight = x_2, kWidth = x_3, kPixels = kHeight * kWidth;
constexpr int64_t kFrameWidth = kWidth + 2, kFrame = (kHeight + 2) * kFrameWidth;
constexpr int64_t kBlock = 4, kStrip = 24, kVectors = kStrip / 8;
static_assert(kernel_size[0] == 3 && kernel_size[1] == 3 && kWidth % kStrip == 0 &&
              out_channels % kBlock == 0);

struct State {
  alignas(
      64) float weight[out_channels * in_channels * 9];  // [out_channels / 4][in_channels][3][3][4]
  alignas(64) float frame[in_channels * kFrame];
};

Vector load(const float* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// y[4 channels][24 pixels] of one row; frame points at the upper left neighbour of the first pixel
// in channel 0.
void convolve_strip(const float* frame, const float* weight, const float* bias, float* y) {
  Vector sum[kBlock][kVectors];
#pragma GCC unroll 4
  for (int64_t c = 0; c < kBlock; ++c) {
#pragma GCC unroll 3
    for (int64_t v = 0; v < kVectors; ++v) sum[c][v] = Vector{} + bias[c];
  }
  for (int64_t input = 0; input < in_channels; ++input, frame += kFrame) {
    for (int64_t dy = 0; dy < 3; ++dy) {
      const float* row = frame + dy * kFrameWidth;
      for (int64_t dx = 0; dx < 3; ++dx, weight += kBlock) {
        Vector pixels[kVectors] = {load(row + dx), load(row + dx + 8), load(row + dx + 16)};
        // Keeps them in registers: the compiler would read them again for each channel, half of the
        // time across cache lines.
        asm("" : "+x"(pixels[0]), "+x"(pixels[1]), "+x"(pixels[2]));
#pragma GCC unroll 4
        for (int64_t c = 0; c < kBlock; ++c) {
#pragma GCC unroll 3
          for (int64_t v = 0; v < kVectors; ++v) sum[c][v] += weight[c] * pixels[v];
        }
      }
    }
  }
  for (int64_t c = 0; c < kBlock; ++c) std::memcpy(y + c * kPixels, sum[c], sizeof sum[c]);
}

// v / (1 + exp(-v)); the exponent is kept within [-87, 87].
inline float silu(float v) {
  constexpr float kRound =
      12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, which stands in the low bits
  float x = std::min(std::max(-v, -87.0f), 87.0f);
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
  return v / (1.0f + std::bit_cast<float>(std::bit_cast<uint32_t>(p) +
                                          (std::bit_cast<uint32_t>(shifted) << 23)));
}

// Normalises one group of one image in place, channel by channel with its weight and bias, and
// applies SiLU.
void normalise(float* y, const float* weight, const float* bias) {
  constexpr int64_t kChannels = out_channels / groups, kCount = kChannels * kPixels;
  float sum = 0.0f, squares = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < kCount; ++i) sum += y[i];
  float mean = sum / static_cast<float>(kCount);
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < kCount; ++i) squares += (y[i] - mean) * (y[i] - mean);
  float scale = 1.0f / std::sqrt(squares / static_cast<float>(kCount) + 1e-5f);
  for (int64_t channel = 0; channel < kChannels; ++channel, y += kPixels) {
    float factor = scale * weight[channel], shift = bias[channel];
#pragma omp simd
    for (int64_t i = 0; i < kPixels; ++i) y[i] = silu((y[i] - mean) * factor + shift);
  }
}

}  // namespace

extern "C" void* prepare(const float* conv_weight, const float*, const float*, const float*) {
  auto* state = static_cast<State*>(std::aligned_alloc(64, sizeof(State)));
  std::memset(state, 0, sizeof(State));
  float* packed = state->weight;
  for (int64_t block = 0; block < out_channels; block += kBlock) {
    for (int64_t tap = 0; tap < in_channels * 9; ++tap) {
      for (int64_t c = 0; c < kBlock; ++c)
        *packed++ = conv_weight[(block + c) * in_channels * 9 + tap];
    }
  }
  return state;
}

extern "C" void run(void* memory, const float* x, const float*, const float* conv_bias,
                    const float* norm_weight, const float* norm_bias, float* out) {
  auto* state = static_cast<State*>(memory);
  for (int64_t image = 0; image < x_0;
       ++image, x += in_channels * kPixels, out += out_channels * kPixels) {
    for (int64_t channel = 0; channel < in_channels; ++channel) {
      for (int64_t row = 0; row < kHeight; ++row) {
        std::memcpy(state->frame + channel * kFrame + (row + 1) * kFrameWidth + 1,
                    x + channel * kPixels + row * kWidth, kWidth * sizeof(float));
      }
    }
    for (int64_t block = 0; block < out_channels; block += kBlock) {
      const float* weight = state->weight + block * in_channels * 9;
      for (int64_t row = 0; row < kHeight; ++row) {
        for (int64_t column = 0; column < kWidth; column += kStrip) {
          convolve_strip(state->frame + row * kFrameWidth + column, weight, conv_bias + block,
                         out + block * kPixels + row * kWidth + column);
        }
      }
    }
    constexpr int64_t kChannels = out_channels / groups;
    for (int64_t group = 0; group < groups; ++group) {
      normalise(out + group * kChannels * kPixels, norm_weight + group * kChannels,
                norm_bias + group * kChannels);
    }
  }
}
