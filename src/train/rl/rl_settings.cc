#include "train/rl/rl_settings.h"

#include <array>
#include <cmath>
#include <optional>

#include "base/settings_json.h"
#include "base/text.h"

namespace kw::train {
namespace {

using rollout::Deviation;
using rollout::Estimator;
using rollout::Singleton;

constexpr std::array kEstimators = {Estimator::kGrpo,
                                    Estimator::kDrGrpo,
                                    Estimator::kRloo,
                                    Estimator::kTrloo,
                                    Estimator::kReinforcePlusPlus,
                                    Estimator::kReinforcePlusPlusBaseline,
                                    Estimator::kNone};
constexpr std::array kLosses = {PolicyLoss::kReinforce, PolicyLoss::kPpo, PolicyLoss::kCispo,
                                PolicyLoss::kGspo};
constexpr std::array kAggregations = {Aggregation::kTokenMean, Aggregation::kSequenceMean,
                                      Aggregation::kConstant};
constexpr std::array kKls = {KlForm::kNone, KlForm::kK1, KlForm::kK2, KlForm::kK3};
constexpr std::array kCorrections = {CorrectionMode::kNone, CorrectionMode::kDecoupled};
constexpr std::array kImportances = {ImportanceLevel::kNone, ImportanceLevel::kToken,
                                     ImportanceLevel::kSequence};

template <typename All>
std::vector<std::string> names_of(const All& all) {
  std::vector<std::string> out;
  for (const auto one : all) out.emplace_back(to_string(one));
  return out;
}

// The first of all for a name that check() would refuse.
template <typename All>
auto named(const All& all, const std::string& name) {
  for (const auto one : all)
    if (to_string(one) == name) return one;
  return all.front();
}

Status check_names(const RlSettings& s) {
  KW_TRY_STATUS(one_of("environment", s.environment, {"toy", "recorded", "gym"}));
  KW_TRY_STATUS(one_of("estimator", s.estimator, names_of(kEstimators)));
  KW_TRY_STATUS(one_of("deviation", s.deviation, {"sample", "population"}));
  KW_TRY_STATUS(one_of("singleton", s.singleton, {"zero", "whole_return"}));
  KW_TRY_STATUS(one_of("loss", s.loss, names_of(kLosses)));
  KW_TRY_STATUS(one_of("aggregation", s.aggregation, names_of(kAggregations)));
  KW_TRY_STATUS(one_of("kl", s.kl, names_of(kKls)));
  KW_TRY_STATUS(one_of("correction", s.correction, names_of(kCorrections)));
  return one_of("importance", s.importance, names_of(kImportances));
}

Status check_sampling(const RlSettings& s) {
  KW_TRY_STATUS(at_least("turns", static_cast<double>(s.turns), 1));
  KW_TRY_STATUS(at_least("judges", static_cast<double>(s.judges), 1));
  KW_TRY_STATUS(at_least("tries", static_cast<double>(s.tries), 1));
  KW_TRY_STATUS(at_least("prompts", static_cast<double>(s.prompts), 1));
  KW_TRY_STATUS(at_least("samples", static_cast<double>(s.samples), 1));
  KW_TRY_STATUS(at_least("answer_tokens", static_cast<double>(s.answer_tokens), 1));
  KW_TRY_STATUS(at_least("max_tokens", static_cast<double>(s.max_tokens), 2));
  KW_TRY_STATUS(at_least("slots", static_cast<double>(s.slots), 1));
  if (!(s.temperature > 0 && s.temperature <= 100))
    return fail(ErrorCode::kInvalidArgument, "temperature: expected over 0, up to 100, not {}",
                s.temperature);
  KW_TRY_STATUS(check(s.sampling_settings()));
  if (lm::truncates(s.sampling_settings()) && !s.teacher.empty())
    return fail(ErrorCode::kInvalidArgument,
                "teacher: not with top_k, top_p or min_p, as its probabilities are of all tokens");
  if (lm::truncates(s.sampling_settings()) && (s.kl != "none" || s.entropy_coefficient != 0))
    return fail(
        ErrorCode::kInvalidArgument,
        "top_k, top_p, min_p: not with kl or entropy_coefficient, which look at all tokens");
  if (s.updates > s.prompts * s.samples)
    return fail(ErrorCode::kInvalidArgument, "updates: {} is over prompts x samples", s.updates);
  return {};
}

Status check_evaluation(const RlSettings& s) {
  KW_TRY_STATUS(at_least("eval_every", static_cast<double>(s.eval_every), 0));
  KW_TRY_STATUS(at_least("eval_samples", static_cast<double>(s.eval_samples), 1));
  KW_TRY_STATUS(at_least("sample_rows", static_cast<double>(s.sample_rows), 0));
  if (!(s.eval_temperature >= 0 && s.eval_temperature <= 100))
    return fail(ErrorCode::kInvalidArgument, "eval_temperature: expected 0 to 100, not {}",
                s.eval_temperature);
  if (s.eval_every > 0 && s.held_out.empty())
    return fail(ErrorCode::kInvalidArgument, "held_out: name the tasks that eval_every is for");
  return {};
}

Status check_teacher(const RlSettings& s) {
  KW_TRY_STATUS(at_least("teacher_coefficient", s.teacher_coefficient, 0));
  if (!s.teacher.empty() && s.kl != "none")
    return fail(ErrorCode::kInvalidArgument,
                "teacher: not with kl, which compares with the weights at the start");
  if (s.teacher.empty() && s.estimator == "none" && !s.learns_from_text())
    return fail(ErrorCode::kInvalidArgument,
                "estimator: none learns nothing without a teacher, feedback_coefficient or "
                "observation_coefficient");
  std::vector<std::string> known(kDivergenceNames.begin(), kDivergenceNames.end());
  known.emplace_back("sampled");
  KW_TRY_STATUS(one_of("teacher_divergence", s.teacher_divergence, known));
  KW_TRY_STATUS(within("teacher_beta", s.teacher_beta, 1e-6, 1 - 1e-6));
  KW_TRY_STATUS(at_least("teacher_top_k", static_cast<double>(s.teacher_top_k), 0));
  if (s.teacher_divergence == "sampled") return {};
  if (s.estimator != "none" || s.entropy_coefficient != 0 || s.correction != "none")
    return fail(ErrorCode::kInvalidArgument,
                "teacher_divergence: {} is the whole loss: it needs estimator=none, and neither "
                "entropy_coefficient nor correction",
                s.teacher_divergence);
  return {};
}

Status check_feedback(const RlSettings& s) {
  KW_TRY_STATUS(at_least("feedback_coefficient", s.feedback_coefficient, 0));
  KW_TRY_STATUS(at_least("observation_coefficient", s.observation_coefficient, 0));
  KW_TRY_STATUS(one_of("feedback_source", s.feedback_source, {"environment", "answer", "both"}));
  KW_TRY_STATUS(one_of("feedback_teacher", s.feedback_teacher, {"policy", "start", "average"}));
  KW_TRY_STATUS(one_of("feedback_divergence", s.feedback_divergence,
                       {kDivergenceNames.begin(), kDivergenceNames.end()}));
  KW_TRY_STATUS(within("feedback_average", s.feedback_average, 0, 1));
  KW_TRY_STATUS(within("feedback_beta", s.feedback_beta, 1e-6, 1 - 1e-6));
  KW_TRY_STATUS(at_least("feedback_top_k", static_cast<double>(s.feedback_top_k), 0));
  if (!std::isfinite(s.feedback_reward))
    return fail(ErrorCode::kInvalidArgument, "feedback_reward: expected a number");
  if (!s.learns_from_text()) return {};
  if (s.teacher_loss())
    return fail(ErrorCode::kInvalidArgument,
                "feedback_coefficient, observation_coefficient: not with teacher_divergence={}, "
                "which is the whole loss",
                s.teacher_divergence);
  if (!s.teacher.empty() && s.has_feedback_weights())
    return fail(ErrorCode::kInvalidArgument,
                "feedback_teacher: {} is not with teacher, which takes its place",
                s.feedback_teacher);
  if (s.kl != "none" && s.has_feedback_weights() && s.feedback_teacher == "average")
    return fail(ErrorCode::kInvalidArgument,
                "feedback_teacher: average is not with kl, which compares with the start");
  return {};
}

// Answers of earlier weights teach without bias only where the loss knows what drew them.
Status check_staleness(const RlSettings& s) {
  KW_TRY_STATUS(at_least("max_staleness", static_cast<double>(s.max_staleness), 0));
  if (s.max_staleness == 0) return {};
  if (lm::truncates(s.sampling_settings()))
    return fail(ErrorCode::kInvalidArgument,
                "max_staleness: not with top_k, top_p or min_p, as other weights leave out other "
                "tokens");
  const bool by_advantages = s.estimator != "none" || (!s.teacher.empty() && !s.teacher_loss());
  if (by_advantages && (s.correction == "none" || s.importance == "none"))
    return fail(ErrorCode::kInvalidArgument,
                "max_staleness: answers of earlier weights need correction=decoupled with "
                "importance=token or importance=sequence");
  return {};
}

// Keys that decide what is sampled and what is learnt from it.
const std::vector<std::string> kFixed = {"environment",
                                         "merge_intervals",
                                         "toy_bytes",
                                         "records",
                                         "turns",
                                         "held_out",
                                         "seed",
                                         "prompts",
                                         "samples",
                                         "temperature",
                                         "top_k",
                                         "top_p",
                                         "min_p",
                                         "answer_tokens",
                                         "max_tokens",
                                         "max_staleness",
                                         "estimator",
                                         "deviation",
                                         "singleton",
                                         "discount",
                                         "min_deviation",
                                         "loss",
                                         "clip_low",
                                         "clip_high",
                                         "dual_clip",
                                         "aggregation",
                                         "constant_length",
                                         "kl",
                                         "teacher",
                                         "teacher_coefficient",
                                         "teacher_divergence",
                                         "teacher_beta",
                                         "teacher_top_k",
                                         "kl_coefficient",
                                         "feedback_coefficient",
                                         "feedback_source",
                                         "feedback_reward",
                                         "feedback_teacher",
                                         "feedback_average",
                                         "feedback_divergence",
                                         "feedback_beta",
                                         "feedback_top_k",
                                         "observation_coefficient",
                                         "entropy_coefficient",
                                         "correction",
                                         "importance",
                                         "importance_cap",
                                         "updates",
                                         "beta1",
                                         "beta2",
                                         "epsilon",
                                         "weight_decay",
                                         "max_norm"};

constexpr std::string_view kGymPrefix = "environment.";

// "eval.max_seconds=2": a table for each dot.
Status set_in_table(Json& table, const std::string& word) {
  const std::size_t equal = word.find('=');
  const std::size_t dot = word.find('.');
  if (dot >= equal) {
    KW_TRY(table, with_words(std::move(table), {word}));
    return {};
  }
  Json& inner = table[word.substr(0, dot)];
  if (!inner.is_null() && !inner.is_object())
    return fail(ErrorCode::kInvalidArgument, "environment.{}: no table",
                printable(word.substr(0, dot), 40));
  return set_in_table(inner, word.substr(dot + 1));
}

// The part of the gym's table that may not change: without how many are judged at once, and where
// verdicts are kept.
Json fixed_of_gym(const std::string& gym) {
  if (gym.empty()) return {};
  auto out = parse_json(gym);
  if (!out || !out->is_object()) return gym;
  out->erase("jobs");
  out->erase("verdicts");
  return std::move(*out);
}

}  // namespace

rollout::AdvantageSettings RlSettings::advantage_settings() const {
  rollout::AdvantageSettings out;
  out.estimator = named(kEstimators, estimator);
  out.deviation = deviation == "sample" ? Deviation::kSample : Deviation::kPopulation;
  out.singleton = singleton == "zero" ? Singleton::kZero : Singleton::kWholeReturn;
  out.discount = discount;
  return out;
}

lm::SamplingSettings RlSettings::sampling_settings() const {
  return {temperature, top_k, top_p, min_p};
}

LossSettings RlSettings::loss_settings() const {
  LossSettings out;
  out.loss = named(kLosses, loss);
  out.clip_low = clip_low;
  out.clip_high = clip_high;
  out.dual_clip = dual_clip > 0 ? std::optional(dual_clip) : std::nullopt;
  out.aggregation = named(kAggregations, aggregation);
  out.constant_length = constant_length;
  out.kl = named(kKls, kl);
  out.kl_coefficient = kl_coefficient;
  out.entropy_coefficient = entropy_coefficient;
  out.correction.mode = named(kCorrections, correction);
  out.correction.importance = named(kImportances, importance);
  out.correction.importance_cap = importance_cap;
  return out;
}

std::optional<DistillLoss> RlSettings::teacher_loss() const {
  if (teacher.empty() || teacher_divergence == "sampled") return std::nullopt;
  return DistillLoss{divergence_named(teacher_divergence), teacher_beta, teacher_top_k, temperature,
                     /*cross_entropy=*/0};
}

DistillLoss RlSettings::feedback_loss() const {
  return {divergence_named(feedback_divergence), feedback_beta, feedback_top_k, temperature,
          /*cross_entropy=*/0};
}

Result<RlSettings> rl_settings(const Json& file, const std::vector<std::string>& words) {
  Json table = Json::object(), gym = Json::object();
  for (const auto& [key, value] : file.items()) {
    if (key != "rl" && key != "environment")
      return fail(ErrorCode::kInvalidArgument,
                  "{}: expected all settings in the tables [rl] and [environment]",
                  printable(key, 80));
    (key == "rl" ? table : gym) = value;
  }
  if (!table.is_object()) return fail(ErrorCode::kInvalidArgument, "rl: expected a table");
  if (!gym.is_object()) return fail(ErrorCode::kInvalidArgument, "environment: expected a table");
  std::vector<std::string> own;
  for (const std::string& word : words) {
    if (!word.starts_with(kGymPrefix)) {
      own.push_back(word);
      continue;
    }
    KW_TRY_STATUS(set_in_table(gym, word.substr(kGymPrefix.size())));
  }
  KW_TRY(Json merged, with_words(std::move(table), own));
  if (!gym.empty()) {
    merged["gym"] = canonical_json(gym);
    if (!merged.contains("environment")) merged["environment"] = "gym";
  }
  KW_TRY(RlSettings out, settings_from_json<RlSettings>(merged, ""));
  KW_TRY_STATUS(check(out));
  return out;
}

Json to_json(const RlSettings& settings) {
  return settings_to_json(settings);
}

Status check(const RlSettings& s) {
  if (s.model.empty()) return fail(ErrorCode::kInvalidArgument, "model: name a model's folder");
  if (s.run.empty()) return fail(ErrorCode::kInvalidArgument, "run: name a folder");
  KW_TRY_STATUS(check_names(s));
  if (s.environment == "recorded" && s.records.empty())
    return fail(ErrorCode::kInvalidArgument, "records: name a file for the recorded environment");
  if (s.environment == "gym" && s.gym.empty())
    return fail(ErrorCode::kInvalidArgument,
                "environment: the gym needs the table [environment] with its problems");
  if (!(s.patience_seconds > 0))
    return fail(ErrorCode::kInvalidArgument, "patience_seconds: expected over 0, not {}",
                s.patience_seconds);
  KW_TRY_STATUS(check_sampling(s));
  KW_TRY_STATUS(check_evaluation(s));
  KW_TRY_STATUS(check(s.advantage_settings()));
  KW_TRY_STATUS(check(s.loss_settings()));
  KW_TRY_STATUS(at_least("min_deviation", s.min_deviation, 0));
  KW_TRY_STATUS(at_least("updates", static_cast<double>(s.updates), 1));
  KW_TRY_STATUS(at_least("micro_tokens", static_cast<double>(s.micro_tokens), 1));
  KW_TRY_STATUS(at_least("steps", static_cast<double>(s.steps), 1));
  KW_TRY_STATUS(at_least("seconds", s.seconds, 0));
  KW_TRY_STATUS(check_optimizer(s));
  KW_TRY_STATUS(check(s.lora));
  KW_TRY_STATUS(check_teacher(s));
  KW_TRY_STATUS(check_feedback(s));
  KW_TRY_STATUS(check_staleness(s));
  KW_TRY_STATUS(one_of("device", s.device, {"auto", "cpu", "cuda"}));
  KW_TRY_STATUS(one_of("matmuls", s.matmuls, {"batch_invariant", "fastest"}));
  KW_TRY_STATUS(one_of("products", s.products, {"fastest", "engine"}));
  if (s.products == "engine" && s.matmuls == "fastest")
    return fail(ErrorCode::kInvalidArgument,
                "products: the engine's cannot be repeated with matmuls=fastest");
  KW_TRY_STATUS(at_least("threads", static_cast<double>(s.threads), 0));
  KW_TRY_STATUS(at_least("save_every", static_cast<double>(s.save_every), 1));
  KW_TRY_STATUS(within("rank_seconds", s.rank_seconds, 1, 1e6));
  return at_least("keep", static_cast<double>(s.keep), 0);
}

std::string differs_for_resume(const Json& stored, const RlSettings& now) {
  const Json current = to_json(now), defaults = to_json(RlSettings{});
  // A run of an earlier program lacks later keys.
  for (const auto& keys : {kFixed, fixed_lora_keys(now.lora), fixed_muon_keys()})
    for (const std::string& key : keys)
      if (stored.value(key, defaults[key]) != current[key]) return key;
  if (fixed_of_gym(stored.value("gym", std::string())) != fixed_of_gym(now.gym)) return "gym";
  return "";
}

}  // namespace kw::train
