// Causal attention over packed sequences: no token sees another sequence.
#pragma once
#include <ATen/core/Tensor.h>

#include "train/model/batch.h"
#include "train/model/operators.h"

namespace kw::train {

// The forward pass leaves an AttentionTape for the backward pass.
struct AttentionTape {
  at::Tensor q, k, v, out;
  at::Tensor heads;                             // q, k and v together: of our own kernels
  at::Tensor statistics, random_state, unused;  // of a GPU's attention
};

// heads: [T, H + 2 G, d], q then k then v, H a multiple of G; scores are scaled by 1 / sqrt(d).
// -> [T, H, d]. On a GPU, in bfloat16: kernels of our own where there are some (cuda/attention.h),
// else torch's variable-length flash attention. On the CPU: each sequence by itself, in any dtype,
// so its numbers do not depend on what it is packed with.
// tape may be null: there is no backward pass.
at::Tensor attention(const at::Tensor& heads, const HeadsShape& shape, const Batch& batch,
                     AttentionTape* tape);
// by_out: [T, H, d]. Uses the tape up.
HeadSlopesByPart attention_backward(AttentionTape& tape, const at::Tensor& by_out,
                                    const HeadsShape& shape, const Batch& batch);

}  // namespace kw::train
