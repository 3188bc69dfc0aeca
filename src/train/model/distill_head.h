// The LM heads of a student and of its teacher side by side, in chunks of tokens: divergences of
// their distributions, and gradients of the student. T tokens, D and E hidden, V vocabulary.
#pragma once
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "train/loss/distill_loss.h"

namespace kw::train {

// All on one device. hidden and weight of a model are of one dtype.
struct DistillInput {
  at::Tensor hidden, weight;                  // of the student: [T, D], [V, D]
  at::Tensor teacher_hidden, teacher_weight;  // [T, E], [V, E]
  at::Tensor targets;                         // [T] i64
};

// Tokens of a chunk, chosen by the size of its logits. A chunk takes kDistillBlocks C V float32
// numbers.
std::int64_t distill_chunk_tokens(std::int64_t vocabulary, bool gpu);
inline constexpr std::int64_t kDistillBlocks = 8;

// Float32 (float64 for float64 weights), whatever the weights' dtype.
struct DistillRows {
  at::Tensor divergences;  // [T] nats (loss/distill_loss.h, D)
  at::Tensor logprobs;     // [T] the student's, of the targets, at temperature 1
};
DistillRows distill_rows(const DistillInput& in, const DistillLoss& loss,
                         std::int64_t chunk_tokens);

struct DistillGradients {
  DistillRows forward;
  at::Tensor hidden;  // [T, D], in hidden's dtype: by the student's hidden
};
// Of the sum over the tokens of their losses times `shares` ([T]). Adds the weight's gradient to
// weight_gradient ([V, D], float32 or float64; undefined: the weight stands still).
DistillGradients distill_gradients(const DistillInput& in, const at::Tensor& shares,
                                   const at::Tensor& weight_gradient, const DistillLoss& loss,
                                   std::int64_t chunk_tokens);

}  // namespace kw::train
