// EngineForward: the decoder's forward pass by the engine's own kernels (lm/cuda/kernels), in the
// order in which a batch-invariant engine adds and with its roundings. So a token's log-probability
// is the one that was recorded when the engine sampled it, to the bit of what enters the head's
// statistics.
//
// The engine computes a token of a prompt and one that was sampled and is fed back differently
// (lm::Phase, Batch::phases). Rows are therefore ordered by phase first, and go back to their
// places for the backward pass.
#pragma once
#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "base/result.h"
#include "train/cuda/engine_products.h"
#include "train/model/batch.h"
#include "train/model/weights.h"

namespace kw::train {

struct Tape;

namespace cuda {

class EngineForward {
 public:
  // kUnsupported names a size that the engine's kernels lack. context: of the longest sequence.
  static Status check(const lm::ModelConfig& config, std::int64_t context);
  // Borrows weights, which are bfloat16 on GPU 0. cosines,
  // sines: [context, d / 2] float32. Errors as of check().
  static Result<std::unique_ptr<EngineForward>> make(const Weights& weights,
                                                     const at::Tensor& cosines,
                                                     const at::Tensor& sines);
  ~EngineForward();
  EngineForward(const EngineForward&) = delete;
  EngineForward& operator=(const EngineForward&) = delete;

  // Returns what the head takes, [T, D] bfloat16 in the batch's order. tape: filled for the
  // backward pass but for `last`'s normed, where it is not null; the first recompute_layers layers
  // keep their input alone.
  at::Tensor hidden(const Batch& batch, Tape* tape, std::int64_t recompute_layers) const;
  const EngineProducts& products() const { return products_; }

 private:
  struct Loaded;
  class Pass;
  EngineForward(const Weights& weights, const at::Tensor& cosines, const at::Tensor& sines,
                std::unique_ptr<Loaded> loaded, EngineProducts products);

  const Weights& weights_;
  at::Tensor cosines_, sines_;
  std::unique_ptr<Loaded> loaded_;
  EngineProducts products_;
};

}  // namespace cuda
}  // namespace kw::train
