// Settings of `kernelwright sft`: the keys of its TOML file and of --set. `distill` has them too.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "train/optimizer/schedule.h"
#include "train/run/setting_checks.h"

namespace kw::train {

struct SftSettings {
  std::string model;                 // folder of the model to begin with, tokenizer included
  bool new_weights = false;          // begin with random weights: the folder has config.json alone
  std::string run = "runs/sft";      // folder of the run: metrics.jsonl, run.toml, checkpoints/
  std::vector<std::string> data;     // JSON Lines or Parquet (forms: row_encoder.h)
  std::vector<double> data_weights;  // how often samples come from each file; empty: all equal
  std::string validation;            // file of held-out rows; empty: none
  std::int64_t validation_rows = 200;  // its first rows that are used

  std::uint64_t seed = 0;            // of the order of samples
  bool shuffle = true;               // false: rows in the order of their files
  double prompt_weight = 0;          // loss weight of tokens that the model does not write
  std::int64_t max_tokens = 4096;    // longer samples are left out
  std::int64_t step_tokens = 16384;  // tokens of an optimizer step at most, but one sample at least
  std::int64_t micro_tokens = 4096;  // tokens computed at once: memory grows with it, not results

  std::int64_t steps = 1000;  // the run ends after so many optimizer steps
  double seconds = 0;         // over 0: the run ends, and the schedule goes, by time instead
  double learning_rate = 1e-5;
  ScheduleSettings schedule;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0;
  double max_norm = 1;  // of the gradient; 0: no clipping
  MuonSettings muon;

  LoraSettings lora;

  std::string device = "auto";        // cpu, cuda, or auto: cuda where there is one
  std::string dtype = "auto";         // float32, bfloat16, or auto: bfloat16 on a GPU
  std::int64_t threads = 0;           // of the CPU and rank; 0: all cores, shared by the ranks
  bool recompute = false;             // activations a second time instead of keeping them
  std::int64_t recompute_layers = 0;  // with recompute: in so many layers; 0: in all
  std::int64_t head_chunk = 0;        // tokens whose logits exist at once; 0: chosen by their size

  std::int64_t save_every = 100;      // steps between checkpoints; the last step is always saved
  std::int64_t keep = 2;              // checkpoints kept; 0: all
  std::int64_t validate_every = 100;  // steps between validations
  double rank_seconds = 600;  // with several ranks: the longest time that one waits for the others
  std::string profile;        // file for a trace of steps 9 to 11 (run/profile.h); empty: none
};

// visit(name, field) for each, in the order of the stored file.
template <typename S, typename Visit>
  requires std::is_same_v<std::remove_const_t<S>, SftSettings>
void describe(S& s, Visit&& visit) {
  visit("model", s.model);
  visit("new_weights", s.new_weights);
  visit("run", s.run);
  visit("data", s.data);
  visit("data_weights", s.data_weights);
  visit("validation", s.validation);
  visit("validation_rows", s.validation_rows);
  visit("seed", s.seed);
  visit("shuffle", s.shuffle);
  visit("prompt_weight", s.prompt_weight);
  visit("max_tokens", s.max_tokens);
  visit("step_tokens", s.step_tokens);
  visit("micro_tokens", s.micro_tokens);
  visit("steps", s.steps);
  visit("seconds", s.seconds);
  describe_optimizer(s, visit);
  describe_lora(s, visit);
  visit("device", s.device);
  visit("dtype", s.dtype);
  visit("threads", s.threads);
  visit("recompute", s.recompute);
  visit("recompute_layers", s.recompute_layers);
  visit("head_chunk", s.head_chunk);
  visit("save_every", s.save_every);
  visit("keep", s.keep);
  visit("validate_every", s.validate_every);
  visit("rank_seconds", s.rank_seconds);
  visit("profile", s.profile);
}

// value: an object with keys of describe(); words: "key=value" of --set, which come later and win.
// A value of --set is JSON where it can be read as such, else text. kInvalidArgument names the key,
// with the nearest known one.
Result<SftSettings> sft_settings(const Json& value, const std::vector<std::string>& words);
Json to_json(const SftSettings& settings);
Status check(const SftSettings& settings);  // ranges; kInvalidArgument names the key

// Empty, or the first key that a resumed run may not change and that differs. Others (steps,
// seconds, saving, device, micro_tokens) may.
std::string differs_for_resume(const Json& stored, const SftSettings& now);
// The same for the settings that `sft` and `distill` share.
std::string differs_for_resume_of_rows(const Json& stored, const SftSettings& now);

}  // namespace kw::train
