// Optimizer: clips the gradient by its global norm, changes the masters and publishes them. All
// have AdamW; or hidden matrices have Muon, and the rest AdamW.
#pragma once
#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "train/model/weights.h"
#include "train/optimizer/adamw.h"
#include "train/optimizer/muon.h"

namespace kw::train {

struct OptimizerSettings {
  AdamWSettings adamw;
  double max_norm = 1;  // of the whole gradient; 0: no clipping
  std::optional<MuonStep> muon = {};
};
// S has a command's settings, which passed check_optimizer().
template <typename S>
OptimizerSettings optimizer_settings(const S& s) {
  OptimizerSettings out{{s.beta1, s.beta2, s.epsilon, s.weight_decay}, s.max_norm};
  if (s.muon.is_chosen())
    out.muon = MuonStep{s.muon.momentum, s.weight_decay, s.muon.scale_kind(),
                        s.muon.learning_rate > 0 ? s.muon.learning_rate / s.learning_rate : 1};
  return out;
}

// One thread at a time; the weights are borrowed.
class Optimizer {
 public:
  Optimizer(Weights& weights, const OptimizerSettings& settings);

  // Uses the weights' gradients up. Returns the gradient's norm before clipping, without dimensions
  // and on the weights' device: nothing waits for it.
  at::Tensor step(double learning_rate);

  // Float32 blocks for checkpoints. The first is laid out as Weights::masters(); in Muon's matrices
  // it is the momentum. The second has only what AdamW updates.
  const at::Tensor& first_moments() const { return first_; }
  const at::Tensor& second_moments() const { return second_; }
  std::int64_t steps() const { return steps_; }
  // A checkpoint has the number, and its moments were copied in.
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  Weights& weights_;
  const double max_norm_;
  at::Tensor first_, second_;
  std::int64_t steps_ = 0;
  std::optional<Muon> muon_;
  std::optional<AdamW> adamw_;
};

}  // namespace kw::train
