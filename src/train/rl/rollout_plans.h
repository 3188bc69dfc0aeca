// RolloutPlans: which tasks each step of a run plays, and those of its evaluations. All that is
// random in them is keyed by the seed and the number of the task.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/rl/rl_settings.h"
#include "train/rl/rollout_batch.h"

namespace kw::train {

class RolloutPlans {
 public:
  // tasks: to train on, at least one, in an order of their own. settings: borrowed.
  RolloutPlans(const RlSettings& settings, std::vector<std::string> tasks)
      : settings_(settings), tasks_(std::move(tasks)) {}

  // step: steps done before.
  RolloutPlan of_step(std::int64_t step) const;
  // The held-out tasks. Draws have a seed of their own and the same numbers each time: nothing of
  // the training depends on them.
  RolloutPlan of_evaluation() const;

 private:
  std::vector<std::string> tasks_of(std::int64_t step) const;

  const RlSettings& settings_;
  const std::vector<std::string> tasks_;
};

}  // namespace kw::train
