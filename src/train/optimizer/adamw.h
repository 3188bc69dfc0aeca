// AdamW (Loshchilov and Hutter, arXiv 1711.05101) over the float32 masters, and clipping by the
// global norm of the gradient. On a CPU by torch's fused kernels, on a GPU by one of ours, which
// publishes the masters in the same pass.
#pragma once
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/model/weights.h"

namespace kw::train {

struct AdamWSettings {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weight_decay = 0;  // of matrices, the embedding included; norms and biases have none
  double max_norm = 1;      // of the whole gradient; 0: no clipping
};

// One thread at a time; the weights are borrowed.
class AdamW {
 public:
  AdamW(Weights& weights, const AdamWSettings& settings);

  // Clips the weights' gradients, changes the masters and publishes them. Returns the gradient's
  // norm before clipping, without dimensions and on the weights' device: nothing waits for it.
  at::Tensor step(double learning_rate);

  // Float32 blocks laid out as Weights::masters(), for checkpoints.
  const at::Tensor& first_moments() const { return first_; }
  const at::Tensor& second_moments() const { return second_; }
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps);  // of a checkpoint whose moments were copied in

 private:
  void group_tensors();
  void mark_decays();
  at::Tensor fused_step(double learning_rate);

  struct Group {
    double weight_decay = 0;
    std::vector<at::Tensor> masters, gradients, first, second, counts;
  };
  Weights& weights_;
  AdamWSettings settings_;
  at::Tensor first_, second_;
  std::int64_t steps_ = 0;
  std::vector<Group> groups_;  // on a CPU
  at::Tensor decays_;          // on a GPU: a bit for each 16 numbers, set in matrices
};

}  // namespace kw::train
