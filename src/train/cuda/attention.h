// The attention of model/attention.h by kernels of our own, for GPUs of compute capability 9.0.
// Without atomics: the same batch gives the same bits.
#pragma once
#include <ATen/core/Tensor.h>

#include "train/model/batch.h"
#include "train/model/operators.h"

namespace kw::train::cuda {

// Whether GPU 0 and heads of this size have kernels; else torch's flash attention is there.
bool has_attention(std::int64_t head_dim);

struct Attended {
  at::Tensor out;  // [T, H, d] bfloat16
  at::Tensor
      statistics;  // [H, P] float32: what the backward pass needs (kernels/attention_common.cu)
};
// heads: [T, H + 2 G, d] bfloat16, q then k then v, contiguous. H is a multiple of G.
Attended attention_forward(const at::Tensor& heads, const HeadsShape& shape, const Batch& batch);
// by_out: [T, H, d] bfloat16, contiguous.
HeadSlopesByPart attention_backward(const at::Tensor& heads, const Attended& attended,
                                    const at::Tensor& by_out, const HeadsShape& shape,
                                    const Batch& batch);

}  // namespace kw::train::cuda
