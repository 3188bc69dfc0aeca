// Decoder: forward and backward passes of the transformer under the LM head, one layer at a time.
// The residual stream, norms and rotation are float32, and so are results of products, gate and up
// on bfloat16 weights excepted; what enters a product or the attention is rounded to the weights'
// dtype, as the engine does (docs/engine.md, Numbers).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/cuda/engine_forward.h"
#include "train/model/batch.h"
#include "train/model/layer.h"
#include "train/model/weights.h"

namespace kw::train {

struct DecoderSettings {
  std::int64_t context = 4096;  // tokens of the longest sequence
  // So many layers, the first ones, keep their input alone and are computed again in the backward
  // pass: up to a fourth more work for a fraction of the memory. More than there are: all.
  std::int64_t recompute_layers = 0;
  // The forward pass is the engine's (cuda/engine_forward.h), but for layers that are computed
  // again. On a GPU, in bfloat16. Else it is the fastest.
  bool by_engine = false;
};

// A forward pass leaves a Tape for its backward pass.
struct Tape {
  std::vector<LayerTape> layers;  // those that are computed again have input.sum alone
  Normed last;                    // normed: [T, D], what the head takes, in the weights' dtype
};

// One thread at a time; the weights are borrowed.
class Decoder {
 public:
  Decoder(const Weights& weights, const DecoderSettings& settings);

  // What makes the head's logits as the engine does; null without an engine.
  const cuda::EngineProducts* engine_products() const {
    return engine_ != nullptr ? &engine_->products() : nullptr;
  }

  // [T, D] in the compute dtype: what the LM head takes. Nothing is kept.
  at::Tensor hidden(const Batch& batch) const;
  Tape forward(const Batch& batch) const;
  // by_normed: the loss by Tape::last.normed. Adds to the weights' gradients and uses the tape up.
  // layer_done: called when the gradient of a layer is complete, from the last one to the first; or
  // empty.
  void backward(const Batch& batch, Tape& tape, const at::Tensor& by_normed,
                const std::function<void(std::size_t)>& layer_done = {}) const;

 private:
  LayerContext context_of(const Batch& batch) const;
  Residual embed(const Batch& batch) const;
  Normed last_norm(const Residual& in) const;

  const Weights& weights_;
  DecoderSettings settings_;
  at::Tensor cosines_, sines_;  // [context, d/2]
  std::shared_ptr<const cuda::EngineForward> engine_;
};

}  // namespace kw::train
