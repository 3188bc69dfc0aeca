#include "train/rl/rl_progress.h"

#include <algorithm>

namespace kw::train {
namespace {

double over(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

}  // namespace

double RlProgress::sampled_per_second() const {
  return over(static_cast<double>(drawn_tokens), sample_seconds);
}

double RlProgress::trained_per_second() const {
  return over(static_cast<double>(result.computed), train_seconds);
}

double RlProgress::judges_busy() const {
  // More judges than answers have nothing to do.
  const auto used = static_cast<double>(std::min(judges, std::max<std::int64_t>(episodes, 1)));
  return std::min(over(judgement_seconds, used * judge_seconds), 1.0);
}

double RlProgress::overlap_seconds() const {
  return std::max(judge_seconds - wait_seconds - still_seconds, 0.0);
}

Json to_json(const RlProgress& p) {
  // A step that learnt nothing has looked at no token.
  const auto looked = [&p](double value) { return p.result.tokens > 0 ? Json(value) : Json(); };
  const auto updated = [&p](double value) { return p.result.updates > 0 ? Json(value) : Json(); };
  Json out = {{"step", p.step},
              {"reward", p.sampled.reward},
              {"reward_deviation", p.sampled.reward_deviation},
              {"reward_parts", p.sampled.parts},
              {"correct", p.sampled.correct ? Json(*p.sampled.correct) : Json()},
              {"distinct", p.sampled.distinct},
              {"measurement_share", p.measurement_share},
              {"merged_rewards", p.merged_rewards},
              {"advantage", p.advantages.magnitude},
              {"advantage_mean", p.advantages.mean},
              {"advantage_deviation", p.advantages.deviation},
              {"advantage_zero", p.advantages.zero_share},
              {"entropy", looked(p.result.entropy)},
              {"kl", looked(p.result.kl)},
              {"teacher_kl", looked(p.result.teacher_kl)},
              {"clip_share", looked(p.result.clip_share)},
              {"mismatch_k1", looked(p.result.mismatch_k1)},
              {"mismatch_k3", looked(p.result.mismatch_k3)},
              {"mismatch_largest", looked(p.result.mismatch_largest)},
              {"loss", updated(p.result.loss)},
              {"policy_loss", looked(p.result.policy_loss)},
              {"gradient_norm", updated(p.result.gradient_norm)},
              {"learning_rate", p.learning_rate},
              {"updates", p.result.updates},
              {"episodes", p.episodes},
              {"without_reward", p.without_reward},
              {"failure", p.failure.empty() ? Json() : Json(p.failure)},
              {"no_room", p.no_room},
              {"broken_episodes", p.broken_episodes},
              {"groups_without_spread", p.groups_without_spread},
              {"staleness", p.staleness.mean},
              {"largest_staleness", p.staleness.largest},
              {"truncated", p.sampled.truncated},
              {"answer_tokens", p.sampled.answer_tokens},
              {"trained_tokens", p.result.tokens},
              {"sampled_per_second", p.sampled_per_second()},
              {"trained_per_second", p.trained_per_second()},
              {"sample_seconds", p.sample_seconds},
              {"train_seconds", p.train_seconds},
              {"wait_seconds", p.wait_seconds},
              {"still_seconds", p.still_seconds},
              {"judge_seconds", p.judge_seconds},
              {"overlap_seconds", p.overlap_seconds()},
              {"queued_seconds", p.queued_seconds},
              {"evaluate_seconds", p.evaluate_seconds},
              {"judges_busy", p.judges_busy()},
              {"longest_judgement", p.longest_judgement},
              {"step_seconds", p.step_seconds},
              {"seconds", p.seconds}};
  const auto mean_of = [](double value, std::int64_t tokens) {
    return tokens > 0 ? Json(value) : Json();
  };
  out["feedback_divergence"] = mean_of(p.result.feedback_divergence, p.result.feedback_tokens);
  out["feedback_tokens"] = p.result.feedback_tokens;
  out["feedback_answers"] = p.result.feedback_answers;
  out["feedback_no_room"] = p.feedback_no_room;
  out["failed_answers"] = p.failed_answers;
  out["observation_loss"] = mean_of(p.result.observation_loss, p.result.observation_tokens);
  out["observation_tokens"] = p.result.observation_tokens;
  if (p.peak_bytes > 0) out["peak_bytes"] = p.peak_bytes;
  return out;
}

}  // namespace kw::train
