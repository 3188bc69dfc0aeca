// The inner loops of the CPU engine, once for each instruction set; chosen when the program starts.
#pragma once
#include <cstdint>
#include <string_view>

namespace kw::lm::cpu {

// A row of scaled logits, summed up for softmax and its entropy.
struct RowStatistics {
  float largest = 0;  // of s * logit
  double sum = 0;     // of exp(s * logit - largest)
  double mean = 0;    // of (s * logit - largest) under the softmax
};

// The operands and the result of a matmul.
template <typename X, typename W>
struct Matmul {
  const X* x = nullptr;  // [rows, k]
  std::int64_t rows = 0, k = 0;
  const W* w = nullptr;  // [., k]
  const std::uint16_t* scales =
      nullptr;                       // [.] float16, one a row of w; int8 weights alone have them
  std::int64_t first = 0, last = 0;  // of w's rows: the columns of y that are computed
  float* y = nullptr;
  std::int64_t y_stride = 0;
  bool adds = false;  // to what is in y; not with scales
};

// One key and value head and the query heads that share it, over positions 0 to positions - 1:
// out = softmax(q keys^T) values.
template <typename T>
struct HeadGroup {
  const float* q = nullptr;  // [group, d], scaled
  std::int64_t group = 0;
  std::int64_t d = 0;         // at most kMaxHeadDim
  const T* keys = nullptr;    // [positions, d]
  const T* values = nullptr;  // [positions, d]
  std::int64_t positions = 0;
  float* out = nullptr;  // [group, d]
};

// An element of a result is computed in the same order of additions whatever the number of rows and
// whichever part of the result a call is for: a sequence's numbers do not depend on what else is in
// the batch, nor on how many threads share the work. bf16 is the upper half of a float32.
struct Kernels {
  std::string_view name;

  // y[m * y_stride + n] = sum over k of x[m * k + .] w[n * k + .] for n in [first, last); products
  // of bf16 numbers are added in float32.
  void (*matmul_f32)(const Matmul<float, float>& of);
  void (*matmul_bf16)(const Matmul<std::uint16_t, std::uint16_t>& of);
  void (*matmul_int8)(const Matmul<std::uint16_t, std::int8_t>& of);

  void (*to_bf16)(const float* in, std::int64_t size, std::uint16_t* out);  // ties to even
  // out = in / sqrt(mean(in^2) + epsilon) * weight; out may be in.
  void (*rms_norm)(const float* in, const float* weight, float epsilon, std::int64_t size,
                   float* out);
  // out = gate / (1 + exp(-gate)) * up; out may be gate.
  void (*silu_multiply)(const float* gate, const float* up, std::int64_t size, float* out);

  void (*attention_f32)(const HeadGroup<float>& of);
  void (*attention_bf16)(const HeadGroup<std::uint16_t>& of);

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
