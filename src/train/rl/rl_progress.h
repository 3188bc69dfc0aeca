// RlProgress tells what a step of reinforcement learning did: a row of metrics.jsonl
// (docs/training.md).
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "train/rl/episode_figures.h"
#include "train/rl/rl_step.h"

namespace kw::train {

struct RlProgress {
  std::int64_t step = 0;            // steps done
  EpisodeFigures sampled;           // before anything is left out
  double measurement_share = 0;     // rollout/measured_rewards.h
  std::int64_t merged_rewards = 0;  // made equal because their intervals overlap
  AdvantageFigures advantages;
  std::int64_t episodes = 0, without_reward = 0, no_room = 0, broken_episodes = 0;
  std::string failure;                     // the first reason of an episode without a reward
  std::int64_t groups_without_spread = 0;  // left out: nothing to learn from them
  std::int64_t failed_answers = 0, feedback_no_room = 0;  // feedback.h
  RlStepResult result;
  double learning_rate = 0;
  Staleness staleness;  // before the step
  // The run's thread samples, trains, waits until an answer is judged, or stands still while
  // something is timed.
  double sample_seconds = 0, train_seconds = 0, wait_seconds = 0, still_seconds = 0;
  std::int64_t drawn_tokens = 0;  // in sample_seconds
  // Beside it judges judge: the time in which at least one did, and the sum over all of them.
  double judge_seconds = 0, judgement_seconds = 0;
  std::int64_t judges = 1;
  double longest_judgement = 0, queued_seconds = 0;  // played.h
  double evaluate_seconds = 0;                       // of the evaluation before the step
  double step_seconds = 0, seconds = 0;              // of the step, of the run so far
  std::uint64_t peak_bytes = 0;                      // run/device.h

  double sampled_per_second() const;  // tokens that were drawn over the sampling time
  double trained_per_second() const;  // tokens of all sequences over the training time
  // The share of the judges' time that judged, in [0, 1], while at least one did.
  double judges_busy() const;
  // Judging that took no time of its own: beside sampling and training.
  double overlap_seconds() const;
};

Json to_json(const RlProgress& progress);

}  // namespace kw::train
