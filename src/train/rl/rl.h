// A run of reinforcement learning, from its settings to its last checkpoint.
//
// Theory of operation: each step draws tasks, lets the policy answer them in the environment, turns
// rewards into advantages, and takes optimizer steps. The scheduler (scheduler.h) says what of
// these and of later steps is sampled when; one thread samples and trains in turn. The engine
// samples with the weights that are trained, in their own memory (policy_engine.h), so samples come
// from the newest weights and nothing is copied. What slots hold of earlier weights is never used.
// All that is random is keyed by the seed and by the step or the episode, and a checkpoint has the
// answers of earlier weights to later steps. So a run that is resumed from a checkpoint has the
// bits of one that was not interrupted, as long as the environment says the same.
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "train/parallel/group.h"
#include "train/rl/rl_progress.h"
#include "train/rl/rl_settings.h"

namespace kw::train {

// Hears of a run; called from its thread.
class RlObserver {
 public:
  virtual ~RlObserver() = default;
  virtual void said(const std::string& line) = 0;
  virtual void stepped(const RlProgress& progress) = 0;
  virtual void evaluated(const Json& row) = 0;  // of evaluations.jsonl
  virtual void saved(const std::filesystem::path& checkpoint) = 0;
};

// Trains. The run's folder gets metrics.jsonl (an object a step), evaluations.jsonl, samples.jsonl,
// episodes.jsonl (every answer with its tokens and reward, docs/environment.md) and checkpoints. A
// stop ends the run with a checkpoint; the step that it interrupts is made again when the run is
// resumed. kAlreadyExists where the folder has checkpoints and `resume` is false; kNotFound where
// it has none and `resume` is true; kUnavailable where no episode of a step has a reward. Where the
// gym's process is lost the steps before are saved, and the error says why.
//
// group: the ranks that train together, all of which call this (docs/training.md, "Several ranks").
// Each plays its share of a step's tasks with an environment of its own, and computes its share of
// the updates; rank 0 alone writes, and the others return the run's folder. Samples are those of
// one rank. Where one rank fails, all return an error that names it; nothing is saved then.
Result<std::filesystem::path> run_rl(const RlSettings& settings, bool resume,
                                     const std::stop_token& stop, RlObserver& observer,
                                     Group& group);

}  // namespace kw::train
