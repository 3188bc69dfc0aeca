// What a step of reinforcement learning did: a row of metrics.jsonl (docs/training.md).
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
  std::int64_t judges = 1;  // answers that are judged at once
  double sample_seconds = 0, judge_seconds = 0, train_seconds = 0;  // of the step's phases
  double judgement_seconds = 0, longest_judgement = 0;  // of single judgements: sum, longest
  double evaluate_seconds = 0;                          // of the evaluation before the step
  double step_seconds = 0, seconds = 0;                 // of the step, of the run so far
  std::uint64_t peak_bytes = 0;                         // run/device.h

  double sampled_per_second() const;  // answer tokens over the sampling time
  double trained_per_second() const;  // tokens of all sequences over the training time
  // The share of the judges' time that judged, in [0, 1]: the rest waited for the slowest answer.
  double judges_busy() const;
};

Json to_json(const RlProgress& progress);

}  // namespace kw::train
