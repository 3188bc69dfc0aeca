// Optimizer: clips the gradient by its global norm, changes the masters and publishes them. All
// have AdamW; or hidden matrices have Muon, and the rest AdamW.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/model/weights.h"
#include "train/optimizer/adamw.h"
#include "train/optimizer/muon.h"
#include "train/parallel/collectives.h"
#include "train/parallel/shards.h"

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

// The shards of a model that several ranks train. Muon: hidden matrices have it.
std::vector<Shard> model_shards(const lm::Parameters& parameters, bool muon, int ranks);

// One thread at a time; the weights and the ranks are borrowed.
//
// With several ranks each has the moments of its shard of the masters alone (ZeRO, arXiv
// 1910.02054), updates the shard, and shares what is computed with. Gradients of weights that are
// sharded too must have been added up before (BucketSums); those of weights that are whole, as an
// adapter's, are added up by the step. A shard has whole matrices of Muon.
class Optimizer {
 public:
  // ranks: null, or all those that train this model; each makes its optimizer.
  Optimizer(Weights& weights, const OptimizerSettings& settings, Collectives* ranks = nullptr);

  // Uses the weights' gradients up. Returns the gradient's norm before clipping, without dimensions
  // and on the weights' device: nothing waits for it. Collective: gradients of all ranks add up,
  // and all have the same weights afterwards. Throws CollectiveError.
  at::Tensor step(double learning_rate);

  // Collective, before the first step: all ranks have rank 0's masters (Weights::start), whatever
  // files each has read. Throws CollectiveError.
  void begin_alike();

  // This rank's moments, float32 blocks on the weights' device: [shard().size()], and those of the
  // numbers in the shard that AdamW updates.
  const at::Tensor& first_moments() const { return first_; }
  const at::Tensor& second_moments() const { return second_; }
  const Shard& shard() const { return shards_[rank()]; }

  // For checkpoints, of all ranks, float32 in the host's memory. The first is laid out as
  // Weights::masters(); in Muon's matrices it is the momentum. The second has only what AdamW
  // updates, second_count() numbers.
  std::int64_t second_count() const { return second_shards_.back().end; }
  // Collective; only rank 0 gets them, and the others' tensors may be undefined. Throws
  // CollectiveError.
  void copy_moments(at::Tensor& first, at::Tensor& second) const;
  // The model as a checkpoint has it, laid out as its parameters, likewise.
  void copy_model(at::Tensor& model) const;
  // Ranks other than 0 call this while rank 0 calls copy_model() and then copy_moments().
  void give_state() const;
  void set_moments(const at::Tensor& first, const at::Tensor& second);
  std::int64_t steps() const { return steps_; }
  // A checkpoint has the number, and its moments were set.
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  std::size_t rank() const;
  at::Tensor own(const at::Tensor& block) const;  // the shard of it
  at::Tensor global_norm() const;
  void share();
  void gather(const at::Tensor& mine, const std::vector<Shard>& shards, at::Tensor& into) const;

  Weights& weights_;
  Collectives* const ranks_;
  const double max_norm_;
  std::vector<Shard> shards_, second_shards_;  // one a rank
  at::Tensor first_, second_;
  std::int64_t steps_ = 0;
  std::optional<Muon> muon_;
  std::optional<AdamW> adamw_;
};

}  // namespace kw::train
