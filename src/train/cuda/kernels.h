// The trainer's kernels on the GPU, and their parameters as the .cu files declare them. Activations
// and derivatives that enter products are bfloat16, all else is float32.
#pragma once
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "cuda/context.h"
#include "cuda/module.h"
#include "cuda/tensor_map.h"

namespace kw::train::cuda {

using kw::cuda::DevicePointer;
using kw::cuda::Function;

// norm.cu
struct AddNormInput {
  DevicePointer x, delta, bias, scale, sum, normed, inverse;
  std::int32_t width;
  float epsilon;
};
struct AddNormBackwardInput {
  DevicePointer sum, inverse, scale, by_normed, by_sum, by_x, by_x_narrow, normed, by_scale;
  std::int64_t rows;
  std::int32_t width;
};

// silu.cu
struct SiluInput {
  DevicePointer inner, bias, out;
  std::int64_t eights;
  std::int32_t width;
};

// heads.cu
struct HeadsInput {
  DevicePointer qkv, bias, q_norm, k_norm, cosines, sines, positions, out, by_q, by_k, by_v;
  DevicePointer by_bias, by_norms;
  std::int64_t tokens;
  std::int32_t heads, kv_heads, head_dim, group, parts;
  float epsilon;
};

// lm_head.cu
struct HeadRowsInput {
  DevicePointer logits, targets, logprobs, log_sums, entropies, by_logprobs, by_entropies;
  DevicePointer cutoffs, thresholds;
  std::int64_t pitch;
  std::int32_t vocabulary;
  float scale, slack;
};

// head_loss.cu
struct HeadLossInput {
  DevicePointer logits, targets, logprobs, by_logprobs;
  std::int64_t pitch;
  std::int32_t vocabulary;
  float scale;
};

// adamw.cu
struct AdamWInput {
  DevicePointer masters, first, second, gradients, computed, decays, factor;
  std::int64_t fours;
  float beta1, beta2, epsilon, kept, rate, second_scale;
};

// attention_common.cu
struct AttentionInput {
  kw::cuda::TensorMap heads, attended, by_out;
  DevicePointer tiles, out, by_k, by_v, statistics, deltas;
  std::int64_t tokens, padded;
  float exponent_scale, scale;
  std::int32_t heads_q, heads_kv, parts;
  std::uint32_t zero;
};

// engine_rows.cu
struct FinishRowsInput {
  DevicePointer stream, bias, norm, next, squares, factors;
  std::int32_t width;
  float epsilon;
};
struct ScaledSiluInput {
  DevicePointer sums, factors, bias, out, inner, places;
  std::int64_t fours;
  std::int32_t width;
};
struct AddPartsInput {
  DevicePointer parts, places, out;
  std::int64_t fours;
  std::int32_t width, count;
};

// Kernels that exist in several sizes, and the threads of a block.
struct NormKernels {
  Function forward, backward;
  unsigned threads = 0;
};
struct HeadsKernels {
  Function forward, backward;
  int group = 0;  // threads that share a head
};
inline constexpr unsigned kHeadThreads = 256;
inline constexpr unsigned kAttentionThreads = 384;
struct AttentionPass {
  Function function;
  unsigned shared_bytes = 0;
};
inline constexpr unsigned kHeadLossThreads = 512;
struct HeadLossKernel {
  Function function;
  unsigned blocks = 0;  // of a cluster, which share a row
};
struct AttentionKernels {
  AttentionPass forward, by_q, by_k_v;
};

// Compiled by NVRTC and loaded once, for GPU 0; launched on the default stream, which torch's work
// is on.
class Kernels {
 public:
  Function add_column_sums, silu_multiply, silu_multiply_backward, head_statistics, head_gradient,
      squares, norm_of_squares, adamw, finish_rows, scaled_silu, add_parts;
  // kUnsupported: wider than these kernels go.
  Result<NormKernels> norm(std::int64_t width) const;
  Result<HeadsKernels> heads(std::int64_t head_dim) const;
  // kUnsupported: another GPU, or heads of another size.
  Result<AttentionKernels> attention(std::int64_t head_dim) const;
  // kUnsupported: another GPU, or a larger vocabulary.
  Result<HeadLossKernel> head_loss(std::int64_t vocabulary) const;
  int multiprocessors() const { return context_.multiprocessors(); }

 private:
  friend Result<const Kernels*> load_kernels();
  explicit Kernels(kw::cuda::Context context) : context_(std::move(context)) {}
  Status load();

  kw::cuda::Context context_;
  kw::cuda::Module norm_, silu_, heads_, head_, adamw_, engine_rows_;
  std::optional<kw::cuda::Module> attention_, head_loss_;  // none for other GPUs than Hopper's
};

// Compiles (or takes what is kept in the program's cache folder) at the first call, which takes
// seconds. kUnsupported says what this machine lacks.
Result<const Kernels*> load_kernels();

}  // namespace kw::train::cuda
