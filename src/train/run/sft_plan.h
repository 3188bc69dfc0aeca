// What a run will take, computed from the model's shape before anything starts.
#pragma once
#include <cstdint>
#include <string>

#include "lm/model/model_config.h"
#include "train/run/distill_settings.h"
#include "train/run/sft_settings.h"

namespace kw::train {

// Bytes on the device, and work.
struct SftPlan {
  std::int64_t parameters = 0;
  std::int64_t trained = 0;  // of the parameters, or of an adapter
  std::uint64_t masters = 0, moments = 0, gradients = 0;
  std::uint64_t muon = 0;         // of its products; 0: there are none
  std::uint64_t frozen = 0;       // the model beside an adapter
  std::uint64_t computed = 0;     // the copy that is computed with; 0 where it is the masters
  std::uint64_t activations = 0;  // of a micro-batch; an estimate
  std::uint64_t logits = 0;       // of a chunk of the head
  std::uint64_t teacher = 0;      // its weights; 0: there is none
  // What one of several ranks has beside its shards, where all weights are trained: the buckets
  // that gradients are made in, and the vectors that are computed with in float32. Not in total().
  std::uint64_t buckets = 0, vectors = 0;
  std::uint64_t checkpoint = 0;  // copy of the state in rank 0's host memory; not in total()
  double flop_per_token = 0;     // forward and backward; recomputation not counted
  double forward_flop_per_token = 0;
  int ranks = 1;  // that train together: memory is of one, flop_per_token of all

  std::uint64_t total() const {
    return masters + moments + gradients + muon + frozen + computed + activations + logits +
           teacher;
  }
};

// narrow: computes in bfloat16. sequence: the usual tokens of a sample, for the attention's share.
SftPlan plan_sft(const lm::ModelConfig& config, const SftSettings& settings, bool narrow,
                 std::int64_t sequence);

// The same of a distillation from a teacher of this shape.
SftPlan plan_distill(const lm::ModelConfig& config, const lm::ModelConfig& teacher,
                     const DistillSettings& settings, bool narrow, std::int64_t sequence);

// What one of several ranks has: its share of the moments, and where all weights are trained of the
// gradients too, and in bfloat16 of the masters. Borders of shards are taken to be where they make
// them equal; those of Muon are at whole matrices.
SftPlan plan_of_rank(SftPlan plan, int ranks);

// How many layers, the first ones, are computed again in the backward pass.
std::int64_t recomputed_layers(const SftSettings& settings, std::int64_t layers);

// Lines for people. flop_per_second: what a rank reaches here, or 0 where nobody measured.
std::string to_text(const SftPlan& plan, const SftSettings& settings, double flop_per_second);

}  // namespace kw::train
