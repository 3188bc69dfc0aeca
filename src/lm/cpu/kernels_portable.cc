// Plain loops over 16 lanes that compilers turn into vectors; built once for any machine and once
// with AVX2 (KW_KERNELS names which). Nothing from the standard library may be instantiated here:
// the linker could take it for the whole program.
#include "lm/cpu/kernels.h"
#include "tensor/half.h"

#define KW_QUOTED_INNER(x) #x
#define KW_QUOTED(x) KW_QUOTED_INNER(x)

namespace kw::lm::cpu {
namespace {

constexpr std::int64_t kLanes = 16;

inline float widened(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16U);
}
inline float widened(float value) {
  return value;
}
inline float widened(std::int8_t value) {
  return static_cast<float>(value);
}

// The same tree for every sum.
inline float sum_of(const float (&lanes)[kLanes]) {
  float half[8], quarter[4];
  for (int i = 0; i < 8; ++i) half[i] = lanes[i] + lanes[i + 8];
  for (int i = 0; i < 4; ++i) quarter[i] = half[i] + half[i + 4];
  return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

template <int rows, int columns, typename X, typename W>
void tile(const X* x, const W* w, std::int64_t k, float* y, std::int64_t y_stride, bool adds) {
  float sums[rows][columns][kLanes] = {};
  std::int64_t at = 0;
  for (; at + kLanes <= k; at += kLanes)
    for (int n = 0; n < columns; ++n)
      for (int m = 0; m < rows; ++m)
        for (int i = 0; i < kLanes; ++i)
          sums[m][n][i] += widened(x[m * k + at + i]) * widened(w[n * k + at + i]);
  for (int i = 0; at < k; ++at, ++i)
    for (int n = 0; n < columns; ++n)
      for (int m = 0; m < rows; ++m)
        sums[m][n][i] += widened(x[m * k + at]) * widened(w[n * k + at]);
  for (int n = 0; n < columns; ++n)
    for (int m = 0; m < rows; ++m) {
      float& to = y[m * y_stride + n];
      to = adds ? to + sum_of(sums[m][n]) : sum_of(sums[m][n]);
    }
}

template <typename X, typename W>
void matmul(const Matmul<X, W>& of) {
  const std::int64_t k = of.k;
  std::int64_t n = of.first;
  for (; n + 2 <= of.last; n += 2) {
    const W* w = of.w + n * k;
    float* y = of.y + n;
    std::int64_t m = 0;
    for (; m + 2 <= of.rows; m += 2)
      tile<2, 2>(of.x + m * k, w, k, y + m * of.y_stride, of.y_stride, of.adds);
    if (m < of.rows) tile<1, 2>(of.x + m * k, w, k, y + m * of.y_stride, of.y_stride, of.adds);
  }
  if (n < of.last)
    for (std::int64_t m = 0; m < of.rows; ++m)
      tile<1, 1>(of.x + m * k, of.w + n * k, k, of.y + m * of.y_stride + n, of.y_stride, of.adds);
}

void matmul_int8(const Matmul<std::uint16_t, std::int8_t>& of) {
  matmul(of);
  for (std::int64_t n = of.first; n < of.last; ++n) {
    const float scale = tensor::half_to_float(of.scales[n]);
    for (std::int64_t m = 0; m < of.rows; ++m) of.y[m * of.y_stride + n] *= scale;
  }
}

void to_bf16(const float* in, std::int64_t size, std::uint16_t* out) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = tensor::float_to_bfloat16(in[i]);
}

// exp with a relative error under 2^-22: 2^n times the Taylor polynomial of degree 6 on
// [-ln 2 / 2, ln 2 / 2]; 0 below -87.
inline float exp_of(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: what is added to it loses its fraction
  float bounded = x > 88.0F ? 88.0F : (x < -87.0F ? -87.0F : x);
  float n = (bounded * 1.44269504F + kRound) - kRound;
  float r = bounded - n * 0.693359375F;
  r = r + n * 2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  auto power = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23U;
  return x < -87.0F ? 0.0F : p * __builtin_bit_cast(float, power);
}

void rms_norm(const float* in, const float* weight, float epsilon, std::int64_t size, float* out) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (int j = 0; j < kLanes; ++j) lanes[j] += in[i + j] * in[i + j];
  for (int j = 0; i < size; ++i, ++j) lanes[j] += in[i] * in[i];
  float factor = 1.0F / __builtin_sqrtf(sum_of(lanes) / static_cast<float>(size) + epsilon);
  for (i = 0; i < size; ++i) out[i] = in[i] * factor * weight[i];
}

void silu_multiply(const float* gate, const float* up, std::int64_t size, float* out) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = gate[i] / (1.0F + exp_of(-gate[i])) * up[i];
}

template <typename T>
float dot(const float* q, const T* key, std::int64_t d) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= d; i += kLanes)
    for (int j = 0; j < kLanes; ++j) lanes[j] += q[i + j] * widened(key[i + j]);
  for (int j = 0; i < d; ++i, ++j) lanes[j] += q[i] * widened(key[i]);
  return sum_of(lanes);
}

// See kernels_avx512.cc.
template <typename T>
void attend(const float* q, std::int64_t d, const T* keys, const T* values, std::int64_t positions,
            float* out) {
  float sums[kMaxHeadDim] = {}, scores[kLanes];
  float largest = -3.0e38F, weight = 0;
  for (std::int64_t first = 0; first < positions; first += kLanes) {
    const std::int64_t here = positions - first < kLanes ? positions - first : kLanes;
    float highest = -3.0e38F;
    for (std::int64_t j = 0; j < here; ++j) {
      scores[j] = dot(q, keys + (first + j) * d, d);
      if (scores[j] > highest) highest = scores[j];
    }
    if (highest > largest) {
      float correction = exp_of(largest - highest);
      for (std::int64_t i = 0; i < d; ++i) sums[i] *= correction;
      weight *= correction;
      largest = highest;
    }
    float block = 0;
    for (std::int64_t j = 0; j < here; ++j) {
      scores[j] = exp_of(scores[j] - largest);
      block += scores[j];
    }
    weight += block;
    for (std::int64_t j = 0; j < here; ++j)
      for (std::int64_t i = 0; i < d; ++i)
        sums[i] += scores[j] * widened(values[(first + j) * d + i]);
  }
  for (std::int64_t i = 0; i < d; ++i) out[i] = sums[i] / weight;
}

template <typename T>
void attention(const HeadGroup<T>& of) {
  for (std::int64_t g = 0; g < of.group; ++g)
    attend(of.q + g * of.d, of.d, of.keys, of.values, of.positions, of.out + g * of.d);
}

RowStatistics row_statistics(const float* logits, std::int64_t size, float scale) {
  RowStatistics out;
  out.largest = -3.0e38F;
  for (std::int64_t i = 0; i < size; ++i)
    if (scale * logits[i] > out.largest) out.largest = scale * logits[i];
  double sums[kLanes] = {}, weighted[kLanes] = {};
  for (std::int64_t first = 0; first < size; first += kLanes) {
    const std::int64_t here = size - first < kLanes ? size - first : kLanes;
    for (std::int64_t j = 0; j < here; ++j) {
      float below = scale * logits[first + j] - out.largest;
      below = below > -1.0e4F ? below : -1.0e4F;  // -inf of a masked token: 0 times it is 0
      float e = exp_of(below);
      sums[j] += e;
      weighted[j] += e * below;
    }
  }
  for (int j = 0; j < kLanes; ++j) {
    out.sum += sums[j];
    out.mean += weighted[j];
  }
  out.mean /= out.sum;
  return out;
}

void exponentials(const float* logits, std::int64_t size, float scale, float largest, float* out,
                  double* block_sums) {
  for (std::int64_t first = 0; first < size; first += kSumBlock) {
    const std::int64_t end = size - first < kSumBlock ? size : first + kSumBlock;
    double sums[kLanes] = {};
    for (std::int64_t i = first; i < end; ++i) {
      float scaled = scale * logits[i];
      out[i] = scaled > -3.0e38F ? exp_of(scaled - largest) : 0.0F;
      sums[(i - first) % kLanes] += out[i];
    }
    double sum = 0;
    for (double one : sums) sum += one;
    block_sums[first / kSumBlock] = sum;
  }
}

}  // namespace

extern const Kernels KW_KERNELS;
const Kernels KW_KERNELS = {KW_QUOTED(KW_KERNELS),
                            matmul<float, float>,
                            matmul<std::uint16_t, std::uint16_t>,
                            matmul_int8,
                            to_bf16,
                            rms_norm,
                            silu_multiply,
                            attention<float>,
                            attention<std::uint16_t>,
                            row_statistics,
                            exponentials};

}  // namespace kw::lm::cpu
