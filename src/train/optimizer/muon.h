// Muon (Jordan et al., https://kellerjordan.github.io/posts/muon/): momentum whose update is made
// orthogonal by Newton-Schulz iterations. With the gradient G of a matrix, its rate r and scale s:
//   M = mu M + (1 - mu) G,  U = mu M + (1 - mu) G (Nesterov),  W = (1 - r decay) W - r s ns(U)
//   ns(U): X = U / |U|, then five times X = a X + (b A + c A A) X with A = X X^T
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/model/weights.h"
#include "train/optimizer/muon_settings.h"
#include "train/parallel/shards.h"

namespace kw::train {

// Matrices [rows, columns] of one projection in consecutive layers: each begins `stride` numbers of
// the masters' block behind the one before.
struct HiddenMatrices {
  std::int64_t first = 0, stride = 0, count = 1;
  std::int64_t rows = 0, columns = 0;
};
// All matrices of the layers, every projection for itself though some are stored as one; with an
// adapter its matrices, A and B each for itself. Embedding and head are none of them.
std::vector<HiddenMatrices> hidden_matrices(const Weights& weights);
std::vector<HiddenMatrices> hidden_matrices(const lm::Parameters& parameters);

// ns(U) of each of the matrices [N, rows, columns], float32 or float64. dtype: of the products and
// the result; the reference takes bfloat16.
at::Tensor orthogonalised(const at::Tensor& matrices, at::ScalarType dtype);

struct MuonStep {
  double momentum = 0.95;
  double weight_decay = 0;
  MuonScale scale = MuonScale::kMatchRmsAdamW;
  double rate = 1;  // learning rate of Muon over that of the step
};

// One thread at a time; the weights are borrowed.
class Muon {
 public:
  // momentum: float32, laid out as the masters' numbers of the shard, which has no part of a matrix
  // without the rest. Only the shard's matrices are updated.
  Muon(Weights& weights, const MuonStep& settings, at::Tensor momentum, Shard shard);

  // Changes the masters of the matrices, and on a GPU their rounded copies. The gradients, which
  // are multiplied by `factor` first where that is defined, are used up.
  void update(double learning_rate, const at::Tensor& factor);

 private:
  void update(const HiddenMatrices& some, double learning_rate, const at::Tensor& factor);

  Weights& weights_;
  const MuonStep settings_;
  const at::Tensor momentum_;
  const Shard shard_;
  const std::vector<HiddenMatrices> matrices_;
};

}  // namespace kw::train
