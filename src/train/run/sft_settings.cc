#include "train/run/sft_settings.h"

#include "base/settings_json.h"

namespace kw::train {
namespace {

// Keys that decide which samples are seen and what is learnt from them.
const std::vector<std::string> kFixedOfRows = {
    "data",        "data_weights", "seed",  "shuffle", "prompt_weight", "max_tokens",
    "step_tokens", "beta1",        "beta2", "epsilon", "weight_decay",  "max_norm"};

}  // namespace

Result<SftSettings> sft_settings(const Json& value, const std::vector<std::string>& words) {
  KW_TRY(const Json merged, with_words(value, words));
  KW_TRY(SftSettings out, settings_from_json<SftSettings>(merged, ""));
  KW_TRY_STATUS(check(out));
  return out;
}

Json to_json(const SftSettings& settings) {
  return settings_to_json(settings);
}

Status check(const SftSettings& s) {
  if (s.model.empty()) return fail(ErrorCode::kInvalidArgument, "model: name a model's folder");
  if (s.run.empty()) return fail(ErrorCode::kInvalidArgument, "run: name a folder");
  if (s.data.empty()) return fail(ErrorCode::kInvalidArgument, "data: name JSON Lines files");
  if (!s.data_weights.empty() && s.data_weights.size() != s.data.size())
    return fail(ErrorCode::kInvalidArgument, "data_weights: expected {} numbers, one a file",
                s.data.size());
  KW_TRY_STATUS(at_least("validation_rows", static_cast<double>(s.validation_rows), 1));
  KW_TRY_STATUS(at_least("max_tokens", static_cast<double>(s.max_tokens), 2));
  KW_TRY_STATUS(at_least("step_tokens", static_cast<double>(s.step_tokens), 1));
  KW_TRY_STATUS(at_least("micro_tokens", static_cast<double>(s.micro_tokens), 1));
  KW_TRY_STATUS(at_least("steps", static_cast<double>(s.steps), 1));
  KW_TRY_STATUS(at_least("seconds", s.seconds, 0));
  KW_TRY_STATUS(check_optimizer(s));
  KW_TRY_STATUS(check(s.lora));
  KW_TRY_STATUS(one_of("device", s.device, {"auto", "cpu", "cuda"}));
  KW_TRY_STATUS(one_of("dtype", s.dtype, {"auto", "float32", "bfloat16"}));
  KW_TRY_STATUS(at_least("threads", static_cast<double>(s.threads), 0));
  KW_TRY_STATUS(at_least("head_chunk", static_cast<double>(s.head_chunk), 0));
  KW_TRY_STATUS(at_least("recompute_layers", static_cast<double>(s.recompute_layers), 0));
  KW_TRY_STATUS(at_least("save_every", static_cast<double>(s.save_every), 1));
  KW_TRY_STATUS(at_least("keep", static_cast<double>(s.keep), 0));
  KW_TRY_STATUS(within("rank_seconds", s.rank_seconds, 1, 1e6));
  return at_least("validate_every", static_cast<double>(s.validate_every), 1);
}

std::string differs_for_resume_of_rows(const Json& stored, const SftSettings& now) {
  const Json current = to_json(now), defaults = to_json(SftSettings{});
  for (const std::string& key : kFixedOfRows)
    if (!stored.contains(key) || stored[key] != current[key]) return key;
  // A run of an earlier program lacks these.
  for (const auto& keys : {fixed_lora_keys(now.lora), fixed_muon_keys()})
    for (const std::string& key : keys)
      if (stored.value(key, defaults[key]) != current[key]) return key;
  return "";
}

std::string differs_for_resume(const Json& stored, const SftSettings& now) {
  return stored.contains("teacher") ? "teacher" : differs_for_resume_of_rows(stored, now);
}

}  // namespace kw::train
