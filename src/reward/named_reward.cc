#include "reward/named_reward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/text.h"

namespace kw::reward {
namespace {

using Formula = std::optional<Score> (*)(const Finding&, const RewardSettings&, Estimate);

std::optional<Score> gated_log(const Finding& finding, const RewardSettings& settings,
                               Estimate estimate) {
  if (!finding.judged()) return std::nullopt;
  const double most = std::log(settings.max_speedup);
  const double speedup = speedup_of(finding, estimate);
  const double value = speedup > 0 ? std::clamp(std::log(speedup), -most, most) : -most;
  return Score{{{"log_speedup", value}}};
}

struct Term {
  std::string_view name;
  Formula formula;
  bool pays_speed = true;
};

constexpr std::array<Term, 7> kTerms = {{
    {"gated_log", gated_log},
    {"correct",
     [](const Finding& finding, const RewardSettings&, Estimate) -> std::optional<Score> {
       if (!finding.judged()) return std::nullopt;
       return Score{{{"correct", finding.correct() ? 1.0 : 0.0}}};
     },
     false},
    {"kevin",
     [](const Finding& finding, const RewardSettings& settings, Estimate estimate) {
       KevinWeights weights;
       weights.max_speedup = settings.max_speedup;
       weights.estimate = estimate;
       return kevin_reward(finding, weights);
     }},
    {"staged",
     [](const Finding& finding, const RewardSettings& settings, Estimate estimate) {
       StagedWeights weights;
       weights.max_speedup = settings.max_speedup;
       weights.names = 0;
       weights.estimate = estimate;
       return staged_reward(finding, 0, weights);
     }},
    {"kernelgym",
     [](const Finding& finding, const RewardSettings& settings, Estimate estimate) {
       KernelGymWeights weights;
       weights.max_speedup = settings.max_speedup;
       weights.estimate = estimate;
       return kernelgym_reward(finding, weights);
     }},
    {"kernelgym_threshold",
     [](const Finding& finding, const RewardSettings& settings, Estimate estimate) {
       KernelGymWeights weights;
       weights.estimate = estimate;
       return kernelgym_threshold_reward(finding, settings.threshold, weights);
     }},
    {"kernelgym_step", [](const Finding& finding, const RewardSettings&,
                          Estimate estimate) { return kernelgym_step_reward(finding, estimate); }},
}};

const Term* term_named(std::string_view name) {
  const auto* found =
      std::find_if(kTerms.begin(), kTerms.end(), [&](const Term& one) { return one.name == name; });
  return found == kTerms.end() ? nullptr : found;
}

}  // namespace

Status check(const RewardSettings& settings) {
  if (settings.terms.empty()) return fail(ErrorCode::kInvalidArgument, "terms: name at least one");
  for (const std::string& name : settings.terms) {
    if (term_named(name) != nullptr) continue;
    std::vector<std::string> names;
    for (const Term& term : kTerms) names.emplace_back(term.name);
    return fail(ErrorCode::kInvalidArgument, "terms: no \"{}\"; there are {}", printable(name, 40),
                join(names, ", "));
  }
  if (!settings.weights.empty() && settings.weights.size() != settings.terms.size())
    return fail(ErrorCode::kInvalidArgument, "weights: {} for {} terms", settings.weights.size(),
                settings.terms.size());
  for (const double weight : settings.weights)
    if (!std::isfinite(weight))
      return fail(ErrorCode::kInvalidArgument, "weights: expected finite numbers");
  if (!(settings.max_speedup > 1) || !std::isfinite(settings.max_speedup))
    return fail(ErrorCode::kInvalidArgument, "max_speedup: expected over 1, not {}",
                settings.max_speedup);
  if (!std::isfinite(settings.threshold))
    return fail(ErrorCode::kInvalidArgument, "threshold: expected a finite number");
  if (!(settings.violation <= 0) || !std::isfinite(settings.violation))
    return fail(ErrorCode::kInvalidArgument, "violation: expected 0 or less, not {}",
                settings.violation);
  if (settings.estimate != "median" && settings.estimate != "low")
    return fail(ErrorCode::kInvalidArgument, "estimate: no \"{}\"; there are median, low",
                printable(settings.estimate, 40));
  return {};
}

std::optional<Score> named_reward(const Finding& finding, const RewardSettings& settings) {
  const Estimate estimate = settings.estimate == "low" ? Estimate::kLow : Estimate::kMedian;
  Score out;
  for (std::size_t i = 0; i < settings.terms.size(); ++i) {
    const Term* term = term_named(settings.terms[i]);
    KW_CHECK(term != nullptr);
    if (term->pays_speed && finding.correct() && !finding.speedup) return std::nullopt;
    std::optional<Score> score = term->formula(finding, settings, estimate);
    if (!score) return std::nullopt;
    if (!settings.weights.empty())
      for (Part& part : score->parts) part.value *= settings.weights[i];
    out = std::move(out) + *score;
  }
  if (finding.violation() && settings.violation < 0)
    out.parts.push_back({"violation", settings.violation});
  return out;
}

}  // namespace kw::reward
