// Settings of `kernelwright distill`: those of `sft`, and the teacher's.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "train/loss/distill_loss.h"
#include "train/run/sft_settings.h"

namespace kw::train {

struct DistillSettings {
  DistillSettings() { rows.run = "runs/distill"; }

  SftSettings rows;
  std::string teacher;  // folder of a model with the same tokens, which is not trained
  // forward, reverse or jensen_shannon (loss/distill_loss.h)
  std::string divergence = "forward";
  double beta = 0.5;         // of jensen_shannon, from 1e-6 to 1 - 1e-6
  std::int64_t top_k = 0;    // over the teacher's likeliest tokens and the rest; 0: over all tokens
  double temperature = 1;    // of both distributions in the divergence
  double cross_entropy = 0;  // share of the rows' own tokens in the loss, from 0 to 1

  DistillLoss loss() const;  // of settings that are checked
};

template <typename S, typename Visit>
  requires std::is_same_v<std::remove_const_t<S>, DistillSettings>
void describe(S& s, Visit&& visit) {
  describe(s.rows, visit);
  visit("teacher", s.teacher);
  visit("divergence", s.divergence);
  visit("beta", s.beta);
  visit("top_k", s.top_k);
  visit("temperature", s.temperature);
  visit("cross_entropy", s.cross_entropy);
}

// As sft_settings().
Result<DistillSettings> distill_settings(const Json& value, const std::vector<std::string>& words);
Json to_json(const DistillSettings& settings);
Status check(const DistillSettings& settings);  // ranges; kInvalidArgument names the key

// As of SftSettings.
std::string differs_for_resume(const Json& stored, const DistillSettings& now);

}  // namespace kw::train
