// Settings of `kernelwright rl`: the keys of its TOML file's table [rl] and of --set.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lm/sampling/sampling.h"
#include "rollout/advantage.h"
#include "train/loss/distill_loss.h"
#include "train/loss/loss_settings.h"
#include "train/optimizer/schedule.h"
#include "train/run/setting_checks.h"

namespace kw::train {

struct RlSettings {
  std::string model;            // folder of the model to begin with, tokenizer included
  bool new_weights = false;     // begin with random weights: the folder has config.json alone
  std::string run = "runs/rl";  // folder of the run: metrics.jsonl, episodes.jsonl, checkpoints/

  // toy (share of a byte), recorded, or gym: a process of its own, which the file's table
  // [environment] describes (docs/environment.md)
  std::string environment = "toy";
  std::string gym;                // gym: that table as JSON
  std::string program;            // gym: its program; empty: kernelwright-environment beside ours
  double patience_seconds = 900;  // gym: without an answer for so long it has stalled
  std::string toy_bytes = "e";    // toy: a task for each of these bytes
  std::string records;            // recorded: JSON Lines file
  std::int64_t turns = 1;         // toy: turns of an episode
  std::int64_t judges = 2;        // answers that are judged at once
  std::int64_t tries = 3;         // of an answer whose judgement failed for a reason that passes

  // Tasks of the environment that are never trained on. Every eval_every steps, before the first
  // step and after the last one they are answered, and evaluations.jsonl gets a row.
  std::vector<std::string> held_out;
  std::int64_t eval_every = 0;    // 0: no evaluation
  std::int64_t eval_samples = 1;  // answers to each task
  double eval_temperature = 0;    // 0: the likeliest token
  std::int64_t sample_rows = 4;   // episodes of a step that samples.jsonl shows

  std::uint64_t seed = 0;    // of new weights, of the order of tasks, and of samples
  std::int64_t prompts = 8;  // tasks of a step
  std::int64_t samples = 8;  // episodes of each of them
  double temperature = 1;    // of sampling; logits are divided by it in the loss too
  // These truncate what is sampled (lm/sampling/sampling.h), but not evaluations. The loss is that
  // of the truncated distribution, too: without KL and entropy terms.
  std::int64_t top_k = 0;
  double top_p = 1, min_p = 0;
  std::int64_t answer_tokens = 256;  // of an answer at most: longer ones are cut
  std::int64_t max_tokens = 2048;    // of a conversation: where it leaves no room, the episode ends
  std::int64_t slots = 64;           // answers that are decoded at once
  // Steps of training between the weights that draw an answer and the step that learns from it, at
  // most (rl/scheduler.h). 0: on-policy. Over 0, answers are judged while other steps are sampled
  // and trained, and the loss needs a correction.
  std::int64_t max_staleness = 0;

  std::string estimator = "grpo";    // of advantages: rollout/advantage.h has them all
  std::string deviation = "sample";  // grpo's: sample or population
  std::string singleton =
      "zero";                   // rloo and trloo without another to compare with: or whole_return
  double discount = 1;          // of later turns
  double min_deviation = 1e-8;  // of a group's rewards: less gives no gradient
  bool merge_intervals = true;  // rewards of a group whose 95 % intervals overlap become equal

  std::string loss = "ppo";                // loss/loss_settings.h: reinforce, ppo, cispo, gspo
  double clip_low = 0.2, clip_high = 0.2;  // of the ratio
  double dual_clip = 0;                    // over 1: bound where the advantage is negative; 0: none
  std::string aggregation = "token_mean";  // or sequence_mean, constant
  double constant_length = 0;              // of constant, in tokens
  std::string kl = "none";    // to the weights at the start: k1, k2 or k3, added to the loss
  double kl_coefficient = 0;  // 0 with a kl: it is logged alone
  // On-policy distillation: folder of a model with the same tokens. To the advantage of each token
  // teacher_coefficient * (log p_teacher - log p_policy) is added, whose mean is the negative
  // KL(policy || teacher). Empty: none. With estimator none it is all that teaches.
  std::string teacher;
  double teacher_coefficient = 1;
  // sampled: that. Else a divergence of all tokens' probabilities at each sampled place, forward,
  // reverse or jensen_shannon (loss/distill_loss.h), times teacher_coefficient is the loss, and
  // rewards teach nothing: estimator none.
  std::string teacher_divergence = "sampled";
  double teacher_beta = 0.5;       // of jensen_shannon
  std::int64_t teacher_top_k = 0;  // over the teacher's likeliest tokens and the rest; 0: all
  // Self-distillation from feedback (rl/feedback.h): feedback_coefficient times a divergence, as of
  // teacher_divergence, of the policy from itself when it has read what the environment said of the
  // answer, a right answer of the group, or both. Over answers that failed: by the environment's
  // word, or else with a reward under feedback_reward. 0: none.
  double feedback_coefficient = 0;
  std::string feedback_source = "both";  // environment, answer or both
  double feedback_reward = 1;
  // Its weights: policy, those at the start, or average: an exponential moving average of them, to
  // which feedback_average of the policy comes after each step.
  std::string feedback_teacher = "policy";
  double feedback_average = 0.05;
  std::string feedback_divergence = "reverse";
  double feedback_beta = 0.5;       // of jensen_shannon
  std::int64_t feedback_top_k = 0;  // over the teacher's likeliest tokens and the rest; 0: all
  // Times the cross-entropy of what the environment says between answers. 0: none.
  double observation_coefficient = 0;
  double entropy_coefficient = 0;
  std::string correction = "none";  // of the sampler's log-probabilities: none or decoupled
  std::string importance = "none";  // truncated weights with a correction: token or sequence
  double importance_cap = 2;
  std::int64_t updates = 1;          // optimizer steps of a step, each on a share of its episodes
  std::int64_t micro_tokens = 4096;  // computed at once: memory grows with it, not results

  std::int64_t steps = 100;  // at most
  double seconds = 0;        // over 0: the run ends after so many of steps, evaluations apart
  LoraSettings lora;
  double learning_rate = 1e-6;
  ScheduleSettings schedule = {.kind = "constant"};
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0;
  double max_norm = 1;  // of the gradient; 0: no clipping
  MuonSettings muon;

  std::string device = "auto";  // cpu, cuda, or auto: cuda where there is one
  // The sampler on a GPU uses these (docs/engine.md): batch_invariant or fastest.
  std::string matmuls = "batch_invariant";
  // Of the policy's forward pass in training on a GPU: fastest, or engine: the sampler's own, so
  // that log-probabilities are those that it recorded.
  std::string products = "fastest";
  std::int64_t threads = 0;      // of the CPU and rank; 0: all cores, shared by the ranks
  std::int64_t save_every = 50;  // steps between checkpoints; the last step is always saved
  std::int64_t keep = 2;         // checkpoints kept; 0: all
  // With several ranks: the longest time that one waits for the others, judgements included.
  double rank_seconds = 3600;

  // With names that check() knows.
  rollout::AdvantageSettings advantage_settings() const;
  lm::SamplingSettings sampling_settings() const;
  LossSettings loss_settings() const;
  std::optional<DistillLoss> teacher_loss() const;  // nullopt: none, or sampled
  DistillLoss feedback_loss() const;
  // A teacher of feedback has weights of its own.
  bool has_feedback_weights() const {
    return feedback_coefficient > 0 && feedback_teacher != "policy";
  }
  // More than rewards and teachers: what the environment says.
  bool learns_from_text() const { return feedback_coefficient > 0 || observation_coefficient > 0; }
};

// visit(name, field) for each, in the order of the stored file.
template <typename S, typename Visit>
  requires std::is_same_v<std::remove_const_t<S>, RlSettings>
void describe(S& s, Visit&& visit) {
  visit("model", s.model);
  visit("new_weights", s.new_weights);
  visit("run", s.run);
  visit("environment", s.environment);
  visit("gym", s.gym);
  visit("program", s.program);
  visit("patience_seconds", s.patience_seconds);
  visit("toy_bytes", s.toy_bytes);
  visit("records", s.records);
  visit("turns", s.turns);
  visit("judges", s.judges);
  visit("tries", s.tries);
  visit("held_out", s.held_out);
  visit("eval_every", s.eval_every);
  visit("eval_samples", s.eval_samples);
  visit("eval_temperature", s.eval_temperature);
  visit("sample_rows", s.sample_rows);
  visit("seed", s.seed);
  visit("prompts", s.prompts);
  visit("samples", s.samples);
  visit("temperature", s.temperature);
  visit("top_k", s.top_k);
  visit("top_p", s.top_p);
  visit("min_p", s.min_p);
  visit("answer_tokens", s.answer_tokens);
  visit("max_tokens", s.max_tokens);
  visit("slots", s.slots);
  visit("max_staleness", s.max_staleness);
  visit("estimator", s.estimator);
  visit("deviation", s.deviation);
  visit("singleton", s.singleton);
  visit("discount", s.discount);
  visit("min_deviation", s.min_deviation);
  visit("merge_intervals", s.merge_intervals);
  visit("loss", s.loss);
  visit("clip_low", s.clip_low);
  visit("clip_high", s.clip_high);
  visit("dual_clip", s.dual_clip);
  visit("aggregation", s.aggregation);
  visit("constant_length", s.constant_length);
  visit("kl", s.kl);
  visit("kl_coefficient", s.kl_coefficient);
  visit("teacher", s.teacher);
  visit("teacher_coefficient", s.teacher_coefficient);
  visit("teacher_divergence", s.teacher_divergence);
  visit("teacher_beta", s.teacher_beta);
  visit("teacher_top_k", s.teacher_top_k);
  visit("feedback_coefficient", s.feedback_coefficient);
  visit("feedback_source", s.feedback_source);
  visit("feedback_reward", s.feedback_reward);
  visit("feedback_teacher", s.feedback_teacher);
  visit("feedback_average", s.feedback_average);
  visit("feedback_divergence", s.feedback_divergence);
  visit("feedback_beta", s.feedback_beta);
  visit("feedback_top_k", s.feedback_top_k);
  visit("observation_coefficient", s.observation_coefficient);
  visit("entropy_coefficient", s.entropy_coefficient);
  visit("correction", s.correction);
  visit("importance", s.importance);
  visit("importance_cap", s.importance_cap);
  visit("updates", s.updates);
  visit("micro_tokens", s.micro_tokens);
  visit("steps", s.steps);
  visit("seconds", s.seconds);
  describe_optimizer(s, visit);
  describe_lora(s, visit);
  visit("device", s.device);
  visit("matmuls", s.matmuls);
  visit("products", s.products);
  visit("threads", s.threads);
  visit("save_every", s.save_every);
  visit("keep", s.keep);
  visit("rank_seconds", s.rank_seconds);
}

// file: an object with the key "rl", which has keys of describe(), and where the environment is the
// gym "environment", which that process reads. words: "key=value" of --set, which come later and
// win; "environment.key=value" sets a key of the other table, with more dots of a table in it.
// kInvalidArgument names the key, with the nearest known one.
Result<RlSettings> rl_settings(const Json& file, const std::vector<std::string>& words);
Json to_json(const RlSettings& settings);
Status check(const RlSettings& settings);  // ranges and names; kInvalidArgument names the key

// Empty, or the first key that a resumed run may not change and that differs. Steps, seconds,
// saving, evaluation, judges, slots, micro_tokens, device, matmuls, products, program and patience
// may, and `jobs` and `verdicts` of the table [environment].
std::string differs_for_resume(const Json& stored, const RlSettings& now);

}  // namespace kw::train
