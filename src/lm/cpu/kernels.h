// The inner loops of the CPU engine, once for each instruction set; chosen when the program starts.
#pragma once
#include <cstdint>
#include <string_view>

namespace kw::lm::cpu {

// What softmax and its entropy need of a row of scaled logits.
struct RowStatistics {
  float largest = 0;  // of s * logit
  double sum = 0;     // of exp(s * logit - largest)
  double mean = 0;    // of (s * logit - largest) under the softmax
};

// An element of a result is computed in the same order of additions whatever the number of rows and
// whichever part of the result a call is for: a sequence's numbers do not depend on what else is in
// the batch, nor on how many threads share the work. bf16 is the upper half of a float32.
struct Kernels {
  std::string_view name;

  // y[m * y_stride + n] = sum over k of x[m * k + .] w[n * k + .], for n in [first, last).
  // x: [rows, k], w: [., k]. Products of bf16 numbers are added in float32.
  void (*matmul_f32)(const float* x, std::int64_t rows, std::int64_t k, const float* w,
                     std::int64_t first, std::int64_t last, float* y, std::int64_t y_stride);
  void (*matmul_bf16)(const std::uint16_t* x, std::int64_t rows, std::int64_t k,
                      const std::uint16_t* w, std::int64_t first, std::int64_t last, float* y,
                      std::int64_t y_stride);
  // scales: [.] float16, one a row of w.
  void (*matmul_int8)(const std::uint16_t* x, std::int64_t rows, std::int64_t k,
                      const std::int8_t* w, const std::uint16_t* scales, std::int64_t first,
                      std::int64_t last, float* y, std::int64_t y_stride);

  void (*to_bf16)(const float* in, std::int64_t size, std::uint16_t* out);  // ties to even
  // out = in / sqrt(mean(in^2) + epsilon) * weight; out may be in.
  void (*rms_norm)(const float* in, const float* weight, float epsilon, std::int64_t size,
                   float* out);
  // out = gate / (1 + exp(-gate)) * up; out may be gate.
  void (*silu_multiply)(const float* gate, const float* up, std::int64_t size, float* out);

  // One key/value head and the `group` query heads that share it, over positions 0 to
  // positions - 1: out = softmax(q keys^T) values. q (scaled): [group, d], keys and values:
  // [positions, d], out: [group, d]; d is at most kMaxHeadDim.
  void (*attention_f32)(const float* q, std::int64_t group, std::int64_t d, const float* keys,
                        const float* values, std::int64_t positions, float* out);
  void (*attention_bf16)(const float* q, std::int64_t group, std::int64_t d,
                         const std::uint16_t* keys, const std::uint16_t* values,
                         std::int64_t positions, float* out);

  RowStatistics (*row_statistics)(const float* logits, std::int64_t size, float scale);
  // out = exp(scale * logit - largest); block_sums: one for each kSumBlock of them.
  void (*exponentials)(const float* logits, std::int64_t size, float scale, float largest,
                       float* out, double* block_sums);
};

inline constexpr std::int64_t kSumBlock = 256;

inline constexpr std::int64_t kMaxHeadDim = 256;

// The best for this machine: "avx512", "avx2" or "generic".
const Kernels& best_kernels();
// nullptr where this build or machine cannot run them.
const Kernels* kernels_named(std::string_view name);

}  // namespace kw::lm::cpu
