// RolloutBatch: the episodes that one step learns from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "environment/environment.h"
#include "train/rl/chat_encoder.h"
#include "train/rl/judged_answer.h"
#include "train/rl/open_episode.h"
#include "train/rl/played.h"
#include "train/rl/sampler.h"

namespace kw::train {

struct RolloutPlan {
  std::int64_t step = 0;  // steps before the one that learns from it
  std::vector<std::string> tasks;
  std::int64_t samples = 1;  // episodes of each task
  // The number of the first episode. They count on from there, so that no two episodes of a run
  // draw the same numbers.
  std::uint64_t first_episode = 0;
  SamplerSettings sampler = {};
};

// One thread at a time.
class RolloutBatch {
 public:
  // Begins all episodes. Takes their answers out of `saved`. most_tokens: of a conversation that
  // has room for an answer. Errors: kCancelled after a stop; a task that cannot begin; a prompt
  // that leaves no room for an answer (kInvalidArgument).
  static Result<std::unique_ptr<RolloutBatch>> begin(environment::Environment& environment,
                                                     const ChatEncoder& chat,
                                                     std::int64_t most_tokens, RolloutPlan plan,
                                                     JudgedAnswers& saved,
                                                     const std::stop_token& stop);

  std::int64_t step() const { return plan_.step; }
  const std::shared_ptr<const SamplerSettings>& sampler() const { return sampler_; }
  // Samples of the first task, then of the second one, and so on.
  std::vector<OpenEpisode>& episodes() { return episodes_; }

  // Some answer of a turn up to last_turn, from 0, is not sampled yet, or may follow when another
  // one is judged.
  bool has_due(std::int64_t last_turn) const;
  // Adds what weights before `version` drew.
  void add_answers_before(std::int32_t version, JudgedAnswers& out) const;
  // When all episodes are over.
  Played played() const;

 private:
  explicit RolloutBatch(RolloutPlan plan)
      : plan_(std::move(plan)), sampler_(std::make_shared<const SamplerSettings>(plan_.sampler)) {}

  const RolloutPlan plan_;
  const std::shared_ptr<const SamplerSettings> sampler_;
  std::vector<OpenEpisode> episodes_;
};

}  // namespace kw::train
