// The most that a run of reinforcement learning will take, computed from its settings and the
// model's shape before anything starts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "lm/model/model_config.h"
#include "train/rl/rl_settings.h"

namespace kw::train {

struct RlPlan {
  std::int64_t parameters = 0;
  // Bytes. The engine samples with the memory of the masters, on a GPU or beside an adapter with
  // that of `computed`.
  std::uint64_t masters = 0, moments = 0, gradients = 0;
  std::uint64_t muon = 0;         // of its products; 0: there are none
  std::uint64_t frozen = 0;       // the model beside an adapter; 0 where all weights are trained
  std::uint64_t computed = 0;     // what is computed with, where it is not the masters
  std::uint64_t reference = 0;    // weights at the start for a KL, or the teacher's
  std::uint64_t activations = 0;  // of a micro-batch; an estimate
  std::uint64_t logits = 0;       // of a chunk of the head
  std::uint64_t keys = 0;         // keys and values of the sampler's slots
  std::uint64_t ahead = 0;        // host: tokens of answers that wait for later steps
  // A step has no more than these.
  std::int64_t answers = 0, sampled_tokens = 0, trained_tokens = 0;
  std::int64_t evaluations = 0, evaluation_answers = 0;  // of the run; answers of all of them
  double sample_flop = 0, train_flop = 0;                // of a step
  double evaluation_flop = 0;                            // of all evaluations
  double judge_seconds = 0;  // of an answer at most; 0: the environment only computes

  std::uint64_t memory() const {
    return masters + moments + gradients + muon + frozen + computed + reference + activations +
           logits + keys;
  }
};

// settings: checked. teacher: its shape, where the settings name one. gpu: the run is on one.
// kInvalidArgument where the model has no room for max_tokens, and where the table [environment]
// has no number where one is expected.
Result<RlPlan> plan_rl(const lm::ModelConfig& config, const RlSettings& settings, bool gpu,
                       const std::optional<lm::ModelConfig>& teacher = std::nullopt);

// Turns of an episode, as far as the settings say: the gym's are in its table. kInvalidArgument.
Result<std::int64_t> turns_of(const RlSettings& settings);

// Lines for people. flop_per_second: what training and sampling reach here.
std::string to_text(const RlPlan& plan, const RlSettings& settings, double flop_per_second);

// The text of --plan; reads the model's config.json, and measures the speed of a product.
Result<std::string> describe_rl(const RlSettings& settings);

}  // namespace kw::train
