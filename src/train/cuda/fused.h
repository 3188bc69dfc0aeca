// The operators of model/operators.h and of the LM head by kernels of our own: bfloat16 operands of
// products, float32 else. All tensors are on GPU 0 and contiguous unless said otherwise. Errors of
// the kernels fly as c10::Error.
#pragma once
#include <optional>

#include <ATen/core/Tensor.h>

#include "base/result.h"
#include "train/model/lm_head.h"
#include "train/model/operators.h"

namespace kw::train::cuda {

// ok, or why this machine or these sizes cannot be trained on the GPU. Compiles the kernels, so
// that the operators below need not.
Status check_support(std::int64_t hidden, std::int64_t head_dim, std::int64_t intermediate);

Normed add_norm(const Residual& in, const at::Tensor& scale, double epsilon);
NormSlopes add_norm_backward(const Normed& saved, const Weight& scale, const at::Tensor& by_normed,
                             const at::Tensor& by_sum);
at::Tensor heads_forward(const HeadsShape& shape, const HeadsWeights& weights,
                         const Rotation& rotation, const at::Tensor& qkv);
at::Tensor heads_backward(const HeadsShape& shape, const HeadsWeights& weights,
                          const Rotation& rotation, const at::Tensor& qkv,
                          const HeadSlopesByPart& by_heads);
at::Tensor silu_multiply(const at::Tensor& inner, const at::Tensor& bias);
SiluSlopes silu_multiply_backward(const at::Tensor& inner, const at::Tensor& bias,
                                  const at::Tensor& by_out);

// A chunk of logits: [C, V] float32 with a pitch, a multiple of 8 numbers (row_pitch).
struct HeadRows {
  at::Tensor logprobs, log_sums, entropies;  // [C]; entropies undefined unless asked for
  at::Tensor thresholds;  // [C] logits over the temperature that are left; undefined: all are
};
std::int64_t row_pitch(std::int64_t vocabulary);
HeadRows head_statistics(const at::Tensor& logits, const at::Tensor& targets, double temperature,
                         bool entropies, const Truncation& truncation);
// The loss's derivative by the logits, [C, V] bfloat16, over the memory of logits. by_entropies may
// be undefined.
at::Tensor head_gradient(const at::Tensor& logits, const at::Tensor& targets, const HeadRows& rows,
                         const at::Tensor& by_logprobs, const at::Tensor& by_entropies,
                         double temperature);

// Both in one pass over the logits, where the derivatives by the log-probabilities are known
// before.
struct HeadLoss {
  at::Tensor logprobs;   // [C]
  at::Tensor by_logits;  // as of head_gradient
};
// nullopt: not on this GPU, or not for so large a vocabulary.
std::optional<HeadLoss> head_loss(const at::Tensor& logits, const at::Tensor& targets,
                                  const at::Tensor& by_logprobs, double temperature);

// [2]: the gradient's norm, and the factor that clips it.
at::Tensor gradient_norm(const at::Tensor& gradients, double max_norm);
struct AdamWStep {
  double beta1, beta2, epsilon, weight_decay, learning_rate;
  std::int64_t step;  // from 1
};
// One pass over whole blocks: moments, masters, and computed, their bfloat16 copy. decays: [N /
// 512] i32, a bit for each 16 numbers that weight_decay is for.
void adamw(const AdamWStep& step, const at::Tensor& masters, const at::Tensor& computed,
           const at::Tensor& gradients, const at::Tensor& first, const at::Tensor& second,
           const at::Tensor& decays, const at::Tensor& norm);

}  // namespace kw::train::cuda
