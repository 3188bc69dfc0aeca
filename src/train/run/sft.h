// A run of training on rows, from its settings to its last checkpoint: supervised fine-tuning, or
// distillation from a teacher.
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "train/parallel/group.h"
#include "train/run/distill_settings.h"
#include "train/run/sft_settings.h"
#include "train/run/sft_step.h"

namespace kw::train {

struct SftProgress {
  std::int64_t step = 0;  // steps done
  StepResult result;
  double learning_rate = 0, tokens_per_second = 0, flop_per_second = 0;
  double seconds = 0;            // of training so far
  double seconds_left = 0;       // an estimate
  std::uint64_t too_long = 0;    // samples left out so far
  std::uint64_t peak_bytes = 0;  // of the GPU's memory that tensors took at once; 0 on a CPU
  // Where this step was validated: nats per token, and per byte of the tokens' text.
  std::optional<double> validation_loss, validation_nats_per_byte;
  std::optional<double> validation_divergence;  // with a teacher: nats per token
};

// Hears of a run; called from its thread, on rank 0 alone.
class SftObserver {
 public:
  virtual ~SftObserver() = default;
  virtual void said(const std::string& line) = 0;
  virtual void stepped(const SftProgress& progress) = 0;
  virtual void saved(const std::filesystem::path& checkpoint) = 0;
};

// Trains. metrics.jsonl in the run's folder gets an object a step (docs/training.md); a stop
// requested through `stop` ends the run after its step with a checkpoint. kAlreadyExists where the
// folder has checkpoints and `resume` is false; kNotFound where it has none and `resume` is true.
// kResourceExhausted says which setting to lower; a loss that is not finite is kInvalidArgument.
// Returns the last checkpoint. The same settings on the same CPU and threads give the same bits,
// resumed or not.
//
// group: the ranks that train together, all of which call this (docs/training.md, "Several ranks").
// Each computes its share of every step; rank 0 alone writes, and the others return the run's
// folder. Where one fails, all return an error that names the rank and the reason.
Result<std::filesystem::path> run_sft(const SftSettings& settings, bool resume,
                                      const std::atomic<bool>& stop, SftObserver& observer,
                                      Group& group);
// The same with a teacher, whose distributions of each token with a weight are what is learnt. The
// rows give the places; nothing is sampled. kInvalidArgument names the setting where the teacher
// has other tokens, or fewer than top_k.
Result<std::filesystem::path> run_distill(const DistillSettings& settings, bool resume,
                                          const std::atomic<bool>& stop, SftObserver& observer,
                                          Group& group);

// The text of --plan: memory of a rank, and work, and a time from the speed of a product measured
// here. ranks: how many train together, all on this machine.
Result<std::string> describe_sft(const SftSettings& settings, int ranks);
Result<std::string> describe_distill(const DistillSettings& settings, int ranks);

}  // namespace kw::train
