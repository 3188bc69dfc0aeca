// Settings of the trainer's commands share these checks.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "train/optimizer/muon_settings.h"
#include "train/optimizer/schedule.h"

namespace kw::train {

// kInvalidArgument names the key: a value under `low`, or one that is not finite.
Status at_least(const char* key, double value, double low);
// The same: a value outside of [low, high].
Status within(const char* key, double value, double low, double high);
// The same: a name that is none of `known`.
Status one_of(const char* key, const std::string& value, const std::vector<std::string>& known);
// The object with "key=value" words in it, which win. A value is JSON where it can be read as such,
// else text.
Result<Json> with_words(Json value, const std::vector<std::string>& words);

// LoRA instead of training all weights (lm/model/lora.h).
struct LoraSettings {
  std::int64_t rank = 0;  // 0: all weights are trained, unless an adapter is named
  double alpha = 16;      // the product is multiplied by alpha / rank
  std::vector<std::string> targets = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                      "gate_proj", "up_proj", "down_proj"};
  std::string adapter;  // folder of a PEFT adapter to begin with, whose rank, alpha, targets hold

  bool trains_adapter() const { return rank > 0 || !adapter.empty(); }
};
template <typename S, typename Visit>
void describe_lora(S& s, Visit&& visit) {
  visit("lora_rank", s.lora.rank);
  visit("lora_alpha", s.lora.alpha);
  visit("lora_targets", s.lora.targets);
  visit("lora_adapter", s.lora.adapter);
}
Status check(const LoraSettings& settings);
// Keys that a resumed run may not change: those of describe_lora() and, with an adapter, those of
// the model beside it, which no checkpoint has.
std::vector<std::string> fixed_lora_keys(const LoraSettings& settings);

// Members of a command's settings that choose the optimizer and its learning rate: described and
// checked in the same way by all commands.
template <typename S, typename Visit>
void describe_optimizer(S& s, Visit&& visit) {
  visit("learning_rate", s.learning_rate);
  visit("schedule", s.schedule.kind);
  visit("warmup", s.schedule.warmup);
  visit("decay", s.schedule.decay);
  visit("floor", s.schedule.floor);
  visit("beta1", s.beta1);
  visit("beta2", s.beta2);
  visit("epsilon", s.epsilon);
  visit("weight_decay", s.weight_decay);
  visit("max_norm", s.max_norm);
  visit("optimizer", s.muon.optimizer);
  visit("muon_learning_rate", s.muon.learning_rate);
  visit("muon_momentum", s.muon.momentum);
  visit("muon_scale", s.muon.scale);
}
// kInvalidArgument names the key.
Status check(const MuonSettings& settings, double learning_rate);
// Keys of Muon that a resumed run may not change.
std::vector<std::string> fixed_muon_keys();
template <typename S>
Status check_optimizer(const S& s) {
  KW_TRY_STATUS(at_least("learning_rate", s.learning_rate, 0));
  KW_TRY_STATUS(check(s.schedule));
  KW_TRY_STATUS(at_least("weight_decay", s.weight_decay, 0));
  KW_TRY_STATUS(at_least("max_norm", s.max_norm, 0));
  KW_TRY_STATUS(at_least("epsilon", s.epsilon, 0));
  if (!(s.beta1 >= 0 && s.beta1 < 1 && s.beta2 >= 0 && s.beta2 < 1))
    return fail(ErrorCode::kInvalidArgument, "beta1, beta2: expected 0 or more and under 1");
  return check(s.muon, s.learning_rate);
}

}  // namespace kw::train
