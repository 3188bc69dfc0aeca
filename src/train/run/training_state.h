// Checkpoints of a training run: a model folder of Hugging Face with the trainer's state beside it.
//
// RUN/checkpoints/step-000100/ holds config.json, model.safetensors, the tokenizer's files,
// optimizer.safetensors (master, exp_avg, exp_avg_sq: float32, laid out as the weights' block;
// Muon's matrices have their momentum in exp_avg and are left out of exp_avg_sq; an average of the
// model where a run has one),
// trainer.json, ahead.jsonl where reinforcement learning has answers for later steps, and, written
// last, DONE (checkpoint_folders.h). With LoRA the model is the sum, and
// the folder adapter/ beside it has the adapter in PEFT's format.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/model/parameters.h"
#include "train/data/stream.h"
#include "train/model/weights.h"
#include "train/optimizer/optimizer.h"

namespace kw::train {

inline constexpr int kTrainingStateSchema = 1;

struct TrainingState {
  std::int64_t step = 0;    // optimizer steps done
  double seconds = 0;       // of training, over all resumed parts
  std::int64_t tokens = 0;  // trained on
  StreamPosition position;
  Json settings;  // of the run that wrote it
  // Optimizer steps, where they are not `step`: a step of reinforcement learning may have several.
  std::optional<std::int64_t> updates;
  // JSON Lines of answers for steps that come later (rl/judged_answer.h); empty: there are none.
  std::string ahead = {};
};

// A copy of all that a checkpoint has, in the host's memory: 4 bytes a parameter, and 8 or (with
// LoRA) 12 for each that is trained; 4 fewer for those in Muon's matrices.
class Snapshot {
 public:
  // Errors: kResourceExhausted.
  static Result<Snapshot> make(const Weights& weights, const Optimizer& optimizer);

  // Waits for the device. With several ranks the others call Optimizer::give_state() meanwhile.
  // average: of the weights (Weights::follow), 4 bytes more a parameter; undefined: there is none.
  void take(const TrainingState& state, const Weights& weights, const Optimizer& optimizer,
            const at::Tensor& average = {});

  // Writes RUN/checkpoints/step-NNNNNN and removes all but the newest `keep` (0: keeps all).
  // Returns its path. base_model: the folder whose tokenizer files are copied. between: called a
  // few times a second, or empty.
  Result<std::filesystem::path> write(const std::filesystem::path& run,
                                      const std::filesystem::path& base_model, std::int64_t keep,
                                      const std::function<void()>& between = {}) const;

 private:
  Snapshot(lm::Parameters parameters, const Weights& weights, const Optimizer& optimizer);
  Status write_all(const std::filesystem::path& partial, const std::filesystem::path& base_model,
                   const std::function<void()>& between) const;

  lm::Parameters parameters_;
  at::Tensor model_;           // over the parameters' memory
  at::Tensor masters_;         // the same without LoRA
  at::Tensor first_, second_;  // moments
  at::Tensor average_;         // undefined: there is none
  std::optional<lm::LoraAdapter> adapter_;
  TrainingState state_;
  bool narrow_ = false;  // the model is saved in bfloat16
};

// trainer.json and ahead.jsonl. kInvalidArgument for another schema, with file and key.
Result<TrainingState> read_training_state(const std::filesystem::path& checkpoint,
                                          std::size_t sources);
// Masters (Weights::start) and moments, and the average where it is defined. Each rank reads all
// and keeps its shard, so the number of ranks may differ from that of the run before.
// kInvalidArgument or kDataLoss names the file and the tensor.
Status load_training_state(const std::filesystem::path& checkpoint, const TrainingState& state,
                           Weights& weights, Optimizer& optimizer, const at::Tensor& average = {});

}  // namespace kw::train
