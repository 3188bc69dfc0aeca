// AdamW (Loshchilov and Hutter, arXiv 1711.05101) over float32 masters. On a CPU by torch's fused
// kernels, on a GPU by one of ours, which publishes the masters in the same pass.
#pragma once
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/model/weights.h"

namespace kw::train {

struct AdamWSettings {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weight_decay = 0;  // of matrices, the embedding included; norms and biases have none
};

// Numbers [begin, begin + count) of the whole masters. Their moments begin at `first` and `second`
// of blocks of their own.
struct MasterSpan {
  std::int64_t begin = 0, count = 0, first = 0, second = 0;
};

// One thread at a time; the weights are borrowed.
class AdamW {
 public:
  // spans: what it updates; each begins at a multiple of 16 numbers, and has a multiple of 4.
  // first, second: float32, laid out as the spans say.
  AdamW(Weights& weights, const AdamWSettings& settings, std::vector<MasterSpan> spans,
        at::Tensor first, at::Tensor second);

  // step: from 1. norm: on a GPU cuda::gradient_norm, whose factor the gradients are multiplied by,
  // and rounded masters are written too; on a CPU not used.
  void update(double learning_rate, std::int64_t step, const at::Tensor& norm);

 private:
  struct Group {
    double weight_decay = 0;
    std::vector<at::Tensor> masters, gradients, first, second, counts;
  };
  void group_tensors();
  at::Tensor decays_of(const MasterSpan& span) const;

  Weights& weights_;
  const AdamWSettings settings_;
  const std::vector<MasterSpan> spans_;
  const at::Tensor first_, second_;
  std::vector<Group> groups_;       // on a CPU
  std::vector<at::Tensor> decays_;  // on a GPU, of each span
};

}  // namespace kw::train
