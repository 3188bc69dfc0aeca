// One decoder layer, forward and backward, by hand: what the backward pass can make again at little
// cost (what norms and the activation gave) is not kept. Letters as in operators.h.
#pragma once
#include <ATen/core/Tensor.h>

#include "lm/model/model_config.h"
#include "train/model/attention.h"
#include "train/model/batch.h"
#include "train/model/operators.h"
#include "train/model/weights.h"

namespace kw::train {

// Borrowed by the functions below.
struct LayerContext {
  const lm::ModelConfig& config;
  const Batch& batch;
  Rotation rotation;
  at::ScalarType narrow;  // the weights' dtype
};

// A layer's forward pass leaves a LayerTape for its backward pass.
struct LayerTape {
  Normed input;             // without normed
  at::Tensor qkv;           // [T, A d] wide; only where heads are normed
  AttentionTape attention;  // without out's copy
  Normed middle;            // without normed
  at::Tensor inner;         // [T, 2 F] narrow
};

// The residual stream behind the layer. tape: filled where it is not null.
Residual layer_forward(const LayerContext& context, const LayerWeights& weights, const Residual& in,
                       LayerTape* tape);
// The tape of a layer whose input stream was kept alone.
LayerTape layer_again(const LayerContext& context, const LayerWeights& weights,
                      const at::Tensor& stream);

// The loss by the residual stream, [T, D].
struct StreamSlopes {
  at::Tensor wide, narrow;
};
// by_out: behind the layer -> before it. Adds to the weights' gradients, uses the tape up, and may
// use by_out's memory.
StreamSlopes layer_backward(const LayerContext& context, const LayerWeights& weights,
                            LayerTape& tape, const StreamSlopes& by_out);

}  // namespace kw::train
