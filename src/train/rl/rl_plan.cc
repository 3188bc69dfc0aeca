#include "train/rl/rl_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "train/run/device.h"
#include "train/run/open_model.h"
#include "train/run/sft_plan.h"

namespace kw::train {
namespace {

// A waiting answer takes this much for a token: of the conversation, and, with log-probability,
// weight version and text, of the answer.
constexpr std::int64_t kReadBytes = 4, kDrawnBytes = 16;
constexpr double kDefaultJudgeSeconds = 30;  // max_seconds of gym::EvalOptions

// The time that one answer may be measured for. Timed blocks are exclusive, so judges do not share
// it; compilers and checks come on top.
Result<double> judge_seconds(const RlSettings& settings) {
  if (settings.environment != "gym") return 0.0;
  KW_TRY(const Json gym, parse_json(settings.gym));
  const Json eval = gym.value("eval", Json::object());
  if (!eval.is_object()) return fail(ErrorCode::kInvalidArgument, "environment.eval: no table");
  const Json seconds = eval.value("max_seconds", Json(kDefaultJudgeSeconds));
  if (!seconds.is_number())
    return fail(ErrorCode::kInvalidArgument, "environment.eval.max_seconds: no number");
  return seconds.get<double>();
}

void plan_memory(const lm::ModelConfig& config, const RlSettings& settings, bool gpu,
                 const std::optional<lm::ModelConfig>& teacher, RlPlan& out) {
  SftSettings same;  // the memory of a micro-batch is that of fine-tuning
  same.micro_tokens = settings.micro_tokens;
  same.max_tokens = settings.max_tokens;
  same.recompute = false;
  same.lora = settings.lora;
  same.muon = settings.muon;
  const SftPlan sft = plan_sft(config, same, gpu, settings.max_tokens);
  out.parameters = sft.parameters;
  out.masters = sft.masters;
  out.moments = sft.moments;
  out.gradients = sft.gradients;
  out.muon = sft.muon;
  out.activations = sft.activations;
  out.logits = sft.logits;
  out.computed = sft.computed;
  out.frozen = sft.frozen;
  const bool has_kl = settings.kl != "none";
  const lm::ModelConfig& compared = teacher ? *teacher : config;
  const bool feedback = settings.feedback_coefficient > 0;
  if (teacher || has_kl || settings.has_feedback_weights())
    out.reference = (gpu ? 6 : 4) * static_cast<std::uint64_t>(compared.parameters());
  out.keys = static_cast<std::uint64_t>(settings.slots * settings.max_tokens * config.layers * 2 *
                                        config.kv_width()) *
             (gpu ? 2 : sizeof(float));
  const double forward = sft.forward_flop_per_token;
  const double of_reference =
      plan_sft(compared, same, gpu, settings.max_tokens).forward_flop_per_token;
  if ((teacher && settings.teacher_loss()) || feedback) {
    DistillSettings distillation;
    distillation.rows = same;
    out.logits = std::max(
        out.logits, plan_distill(config, compared, distillation, gpu, settings.max_tokens).logits);
  }
  // Before the updates.
  const double before = forward + (teacher || has_kl ? of_reference : 0);
  // Beside the gradients.
  const double again = (settings.teacher_loss() ? of_reference : 0) + (feedback ? forward : 0);
  out.train_flop = static_cast<double>(out.trained_tokens) * (sft.flop_per_token + before + again);
  const auto prompts = static_cast<double>(settings.prompts * settings.max_tokens);
  out.sample_flop = forward * (static_cast<double>(out.sampled_tokens) + prompts);
  out.evaluation_flop = forward * static_cast<double>(out.evaluation_answers * settings.max_tokens);
}

}  // namespace

Result<std::int64_t> turns_of(const RlSettings& settings) {
  if (settings.environment != "gym") return settings.turns;
  KW_TRY(const Json gym, parse_json(settings.gym));
  const Json turns = gym.value("turns", Json(1));
  if (!turns.is_number_integer() || turns.get<std::int64_t>() < 1)
    return fail(ErrorCode::kInvalidArgument, "environment.turns: no number over 0");
  return turns.get<std::int64_t>();
}

Result<RlPlan> plan_rl(const lm::ModelConfig& config, const RlSettings& settings, bool gpu,
                       const std::optional<lm::ModelConfig>& teacher) {
  if (settings.max_tokens > config.max_position)
    return fail(ErrorCode::kInvalidArgument,
                "max_tokens: {} is over {}, the model's max_position_embeddings",
                settings.max_tokens, config.max_position);
  RlPlan out;
  KW_TRY(out.judge_seconds, judge_seconds(settings));
  KW_TRY(const std::int64_t turns, turns_of(settings));
  out.answers = settings.prompts * settings.samples * turns;
  const std::int64_t answer = std::min(settings.answer_tokens, settings.max_tokens - 1);
  out.sampled_tokens = out.answers * answer;
  out.trained_tokens = out.answers * settings.max_tokens;
  out.ahead =
      static_cast<std::uint64_t>(settings.max_staleness * (kReadBytes * out.trained_tokens +
                                                           kDrawnBytes * out.sampled_tokens));
  if (settings.eval_every > 0) {
    // Before the first step, every so many steps, and after the last one.
    out.evaluations = 1 + (settings.steps + settings.eval_every - 1) / settings.eval_every;
    out.evaluation_answers =
        out.evaluations * std::ssize(settings.held_out) * settings.eval_samples * turns;
  }
  plan_memory(config, settings, gpu, teacher, out);
  return out;
}

std::string to_text(const RlPlan& plan, const RlSettings& settings, double flop_per_second) {
  std::string out;
  auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{:<28} {:>12}\n", name, value);
  };
  auto memory = [&](std::string_view name, std::uint64_t bytes) {
    if (bytes > 0) line(name, format_bytes(bytes));
  };
  auto time = [&](std::string_view name, double seconds) {
    line(name, seconds < 600 ? format_ms(seconds * 1000) : fmt::format("{:.0f} min", seconds / 60));
  };
  line("parameters", short_count(plan.parameters));
  memory(plan.computed > 0 ? "masters" : "weights (sampler's too)", plan.masters);
  memory("weights (sampler's too)", plan.computed);
  memory("frozen weights", plan.frozen);
  memory("moments", plan.moments);
  memory("gradients", plan.gradients);
  memory("products of Muon", plan.muon);
  memory("reference's weights", plan.reference);
  memory("activations (about)", plan.activations);
  memory("logits of a chunk", plan.logits);
  memory("keys and values", plan.keys);
  memory("memory together", plan.memory());
  memory("checkpoint copy (host)", plan.masters + plan.moments + plan.frozen);
  memory("answers ahead (host)", plan.ahead);
  line("answers of a step", short_count(plan.answers));
  line("sampled tokens, at most", short_count(plan.sampled_tokens));
  line("trained tokens, at most", short_count(plan.trained_tokens));
  if (plan.evaluations > 0) line("evaluations", short_count(plan.evaluations));
  if (plan.evaluations > 0) line("answers of evaluations", short_count(plan.evaluation_answers));
  const double judge = plan.judge_seconds * static_cast<double>(plan.answers);
  const double sample = plan.sample_flop / flop_per_second;
  const double train = plan.train_flop / flop_per_second;
  time("sampling a step, at most", sample);
  time("judging a step, at most", judge);
  time("training a step, at most", train);
  const auto steps = static_cast<double>(settings.steps);
  const double evaluations = plan.evaluation_flop / flop_per_second +
                             plan.judge_seconds * static_cast<double>(plan.evaluation_answers);
  if (plan.evaluations > 0) time("evaluations, at most", evaluations);
  // Ahead of their step, answers are judged beside all else.
  const double step =
      settings.max_staleness > 0 ? std::max(sample + train, judge) : sample + judge + train;
  // The step in which the time is over is the last one.
  const double all =
      settings.seconds > 0 ? std::min(steps * step, settings.seconds + step) : steps * step;
  time("the run, at most (about)", all + evaluations);
  return out;
}

Result<std::string> describe_rl(const RlSettings& settings) {
  return without_exceptions([&]() -> Result<std::string> {
    set_threads(settings.threads);
    KW_TRY(const lm::ModelConfig config, lm::read_model_config(settings.model));
    KW_TRY(const at::Device device, device_of(settings.device));
    RlSettings planned = settings;
    KW_TRY(planned.lora, with_shape_of_adapter(settings.lora));
    std::optional<lm::ModelConfig> teacher;
    if (!settings.teacher.empty()) {
      KW_TRY(teacher, lm::read_model_config(settings.teacher));
    }
    KW_TRY(const RlPlan plan, plan_rl(config, planned, device.is_cuda(), teacher));
    const double rate = measured_rate(device, dtype_of("auto", device), config.hidden);
    return to_text(plan, settings, rate / 2);
  });
}

}  // namespace kw::train
