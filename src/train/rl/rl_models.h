// RlModels: the policy of a run of reinforcement learning, and the weights that it is compared
// with.
#pragma once
#include <filesystem>
#include <optional>

#include <ATen/core/Tensor.h>

#include "lm/tokenizer/tokenizer.h"
#include "train/rl/rl_settings.h"
#include "train/rl/rl_step.h"
#include "train/run/open_model.h"

namespace kw::train {

class RlModels {
 public:
  // Opens the policy and, where the settings ask for them, the weights at the start. checkpoint and
  // errors as of open_model(). settings: borrowed.
  static Result<RlModels> open(const RlSettings& settings, const std::filesystem::path& checkpoint);
  // Opens the teacher that the settings name, if they do. Errors as of open_teacher().
  Status open_teacher(const lm::Tokenizer& tokenizer);

  const OpenModel& policy() const { return policy_; }
  Weights& weights() const { return *policy_.weights; }
  at::Device device() const { return policy_.weights->device(); }

  // The moving average of the policy's weights that reads feedback: its block, undefined without
  // one, and what is done after that was written and after a step.
  at::Tensor average() const;
  void publish_average();
  void follow_policy();

  // What rl_step() takes of them and of the settings.
  RlParts parts(Optimizer& optimizer) const;

 private:
  explicit RlModels(const RlSettings& settings) : settings_(&settings) {}
  bool has_average() const;

  const RlSettings* settings_;
  OpenModel policy_;
  std::optional<OpenModel> reference_;  // the weights at the start, their average, or the teacher
};

}  // namespace kw::train
