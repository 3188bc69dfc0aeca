#include "train/run/setting_checks.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "lm/model/lora.h"

namespace kw::train {

Status at_least(const char* key, double value, double low) {
  if (value >= low && std::isfinite(value)) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: expected {} or more, not {}", key, low, value);
}

Status within(const char* key, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: expected {} to {}, not {}", key, low, high, value);
}

Status one_of(const char* key, const std::string& value, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: no \"{}\"; there are {}", key, printable(value, 40),
              join(known, ", "));
}

Result<Json> with_words(Json value, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos || equal == 0)
      return fail(ErrorCode::kInvalidArgument, "--set {}: expected key=value", printable(word, 80));
    const std::string text = word.substr(equal + 1);
    auto parsed = parse_json(text);
    value[word.substr(0, equal)] = parsed ? std::move(*parsed) : Json(text);
  }
  return value;
}

Status check(const MuonSettings& s, double learning_rate) {
  KW_TRY_STATUS(one_of("optimizer", s.optimizer, {"adamw", "muon"}));
  KW_TRY_STATUS(at_least("muon_learning_rate", s.learning_rate, 0));
  KW_TRY_STATUS(within("muon_momentum", s.momentum, 0, 1 - 1e-6));
  KW_TRY_STATUS(one_of("muon_scale", s.scale, {kMuonScaleNames.begin(), kMuonScaleNames.end()}));
  if (s.is_chosen() && learning_rate == 0)
    return fail(ErrorCode::kInvalidArgument, "learning_rate: expected over 0 with optimizer=muon");
  return {};
}

std::vector<std::string> fixed_muon_keys() {
  return {"optimizer", "muon_momentum", "muon_scale"};
}

Status check(const LoraSettings& s) {
  KW_TRY_STATUS(at_least("lora_rank", static_cast<double>(s.rank), 0));
  if (!(s.alpha > 0) || !std::isfinite(s.alpha))
    return fail(ErrorCode::kInvalidArgument, "lora_alpha: expected a positive number");
  if (s.targets.empty())
    return fail(ErrorCode::kInvalidArgument, "lora_targets: name at least one of {}",
                join(lm::lora_targets(), ", "));
  for (const std::string& target : s.targets)
    KW_TRY_STATUS(one_of("lora_targets", target, lm::lora_targets()));
  if (s.rank > 0 && !s.adapter.empty())
    return fail(ErrorCode::kInvalidArgument,
                "lora_rank and lora_adapter: an adapter has a rank of its own; leave out one");
  return {};
}

std::vector<std::string> fixed_lora_keys(const LoraSettings& settings) {
  std::vector<std::string> out = {"lora_rank", "lora_alpha", "lora_targets", "lora_adapter"};
  if (settings.trains_adapter()) out.insert(out.end(), {"model", "new_weights"});
  return out;
}

}  // namespace kw::train
