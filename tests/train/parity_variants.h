// The trainer's forward pass with some of its roundings replaced by the engine's, one by one and by
// torch's operators: slow, to see which of them matter.
#pragma once
#include <ATen/core/Tensor.h>

#include "train/model/batch.h"
#include "train/model/weights.h"

namespace kw::train {

struct Roundings {
  // residual * the norm's weight is rounded, and products take the row's factor afterwards, as the
  // engine decodes. Neither the embedding's norm nor the last one.
  bool factor_after = false;
  bool wide_inner = false;      // gate and up stay float32 until silu(gate) * up is rounded
  bool wide_attention = false;  // queries and probabilities stay float32
};

// [T, D]: what the head takes. cosines, sines: [positions, d / 2] float32.
at::Tensor hidden_with(const Weights& weights, const at::Tensor& cosines, const at::Tensor& sines,
                       const Batch& batch, const Roundings& roundings);

}  // namespace kw::train
