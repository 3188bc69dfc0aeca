// The formulas, part by part.
#include "reward/execution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace kw::reward {
namespace {

using task::Outcome;

bool hit_limit(const Finding& finding) {
  return finding.outcome == Outcome::kTimeout || finding.outcome == Outcome::kMemoryLimit ||
         finding.outcome == Outcome::kOutputLimit;
}

bool failed(const Finding& finding) {
  return !finding.outcome || finding.violation() || hit_limit(finding);
}

double finite_or_zero(double value) {
  return std::isfinite(value) ? std::max(value, 0.0) : 0;
}

Score kernelgym(const Finding& finding, double speed, const KernelGymWeights& weights) {
  if (failed(finding)) return {{{"failure", weights.failure}}};
  return {{{"correct", finding.correct() ? weights.correct : 0},
           {"speed", weights.speed * speed},
           {"coverage", weights.coverage * coverage_of(finding, weights.kind)}}};
}

}  // namespace

double Score::total() const {
  double sum = 0;
  for (const Part& part : parts) sum += part.value;
  return sum;
}

Score operator+(Score a, const Score& b) {
  a.parts.insert(a.parts.end(), b.parts.begin(), b.parts.end());
  return a;
}

Score clipped(Score score, double low, double high) {
  double total = score.total();
  score.parts.push_back({"clip", std::clamp(total, low, high) - total});
  return score;
}

double speedup_of(const Finding& finding, Estimate estimate) {
  if (!finding.correct() || !finding.speedup) return 0;
  return finite_or_zero(estimate == Estimate::kLow ? finding.speedup->low
                                                   : finding.speedup->median);
}

std::optional<Score> staged_reward(const Finding& finding, double names_defined,
                                   const StagedWeights& weights) {
  if (!finding.judged()) return std::nullopt;
  if (finding.violation()) return Score{{{"violation", weights.violation}}};
  auto layer = [&](task::Progress least, double weight) {
    return finding.progress >= least ? weight : 0;
  };
  double speed = std::min(speedup_of(finding, weights.estimate), weights.max_speedup);
  return Score{{{"extracted", layer(task::Progress::kExtracted, weights.extracted)},
                {"compiled", layer(task::Progress::kCompiled, weights.compiled)},
                {"ran", layer(task::Progress::kRan, weights.ran)},
                {"right_shape", layer(task::Progress::kRightShape, weights.right_shape)},
                {"correct", layer(task::Progress::kCorrect, weights.correct)},
                {"speed", weights.speed * speed},
                {"names", weights.names * std::clamp(names_defined, 0.0, 1.0)}}};
}

std::optional<Score> kevin_reward(const Finding& finding, const KevinWeights& weights) {
  if (!finding.judged()) return std::nullopt;
  if (finding.violation()) return Score{{{"violation", weights.violation}}};
  double speed = speedup_of(finding, weights.estimate);
  if (weights.max_speedup) speed = std::min(speed, *weights.max_speedup);
  return Score{{{"correct", finding.correct() ? weights.correct : 0}, {"speed", speed}}};
}

double coverage_of(const Finding& finding, CoverageKind kind) {
  if (!finding.correct() || !finding.coverage) return 0;
  double share = kind == CoverageKind::kTime ? finding.coverage->time : finding.coverage->count;
  return std::min(finite_or_zero(share), 1.0);
}

std::optional<Score> kernelgym_reward(const Finding& finding, const KernelGymWeights& weights) {
  if (!finding.judged()) return std::nullopt;
  double speed = std::min(speedup_of(finding, weights.estimate), weights.max_speedup);
  return kernelgym(finding, speed < weights.min_speedup ? 0 : speed, weights);
}

std::optional<Score> kernelgym_threshold_reward(const Finding& finding, double threshold,
                                                const KernelGymWeights& weights) {
  if (!finding.judged()) return std::nullopt;
  bool fast = finding.correct() && speedup_of(finding, weights.estimate) >= threshold;
  return kernelgym(finding, fast ? 1 : 0, weights);
}

std::optional<Score> kernelgym_step_reward(const Finding& finding, Estimate estimate) {
  constexpr std::array<std::pair<double, double>, 5> kSteps = {
      {{3, 1}, {2, 0.8}, {1.5, 0.6}, {1.2, 0.4}, {1, 0.2}}};
  if (!finding.judged()) return std::nullopt;
  auto score = [](std::string_view name, double value) { return Score{{{name, value}}}; };
  if (failed(finding)) return score("failure", -1);
  if (finding.progress < task::Progress::kCompiled) return score("not_compiled", -0.5);
  if (!finding.correct()) return score("incorrect", -0.3);
  double speed = speedup_of(finding, estimate);
  for (auto [from, value] : kSteps)
    if (speed >= from) return score("speed", value);
  return score("speed", -0.1);
}

double keep_probability(const Finding& finding, const Rejection& rejection) {
  if (!finding.correct() || !finding.coverage) return 1;
  if (rejection.keep_speedup && speedup_of(finding, Estimate::kMedian) >= *rejection.keep_speedup)
    return 1;
  double coverage = coverage_of(finding, rejection.kind);
  if (rejection.softness <= 0) return coverage >= rejection.threshold ? 1 : 0;
  return std::clamp((coverage - rejection.threshold) / rejection.softness, 0.0, 1.0);
}

}  // namespace kw::reward
