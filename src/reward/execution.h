// Rewards for what an answer did when it was judged. Each is a sum of named parts, so that they can
// be added, clipped and logged; docs/prompts.md has the formulas side by side.
//
// All count a strict pass only. They give nothing, not 0, for answers that could not be judged
// (Finding::judged), and a violation gets the penalty alone. Free of state: any thread.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "reward/finding.h"

namespace kw::reward {

struct Part {
  std::string_view name;  // a literal
  double value = 0;
};

struct Score {
  std::vector<Part> parts;

  double total() const;
};

Score operator+(Score a, const Score& b);
// Held to [low, high] by one more part, "clip".
Score clipped(Score score, double low, double high);

// Which end of a speedup counts: its median, or the low end of its 95 % interval, which a noisy
// measurement cannot raise.
enum class Estimate { kMedian, kLow };
// 0 for answers that are not correct or have no time.
double speedup_of(const Finding& finding, Estimate estimate);

// For each layer reached, its weight; `speed` times the speedup, clipped to [0, max_speedup].
// Defaults: cdreetz/rlptx's KernelBench reward, whose 0.25 for each of two names became `names`
// times their share.
struct StagedWeights {
  double extracted = 0, compiled = 0, ran = 2, right_shape = 0, correct = 1;
  double speed = 1, max_speedup = 1;
  double names = 0.5;
  double violation = 0;
  Estimate estimate = Estimate::kMedian;
};
// names_defined: the share of the names asked for that the code defines, in [0, 1].
std::optional<Score> staged_reward(const Finding& finding, double names_defined,
                                   const StagedWeights& weights = {});

// 0.3 + speedup if correct (Kevin, arXiv 2507.11948, on KernelBench), else 0. The original has no
// upper bound, which invites reward hacking: max_speedup gives one.
struct KevinWeights {
  double correct = 0.3;
  std::optional<double> max_speedup;
  double violation = 0;
  Estimate estimate = Estimate::kMedian;
};
std::optional<Score> kevin_reward(const Finding& finding, const KevinWeights& weights = {});

enum class CoverageKind { kTime, kCount };
// In [0, 1]; 0 for answers that are not correct, or whose coverage was not measured (on a CPU).
double coverage_of(const Finding& finding, CoverageKind kind);

// KernelGYM's (hkust-nlp/KernelGYM, arXiv 2602.05885): correct C + speed clip(S) + coverage C cov.
// clip(S) is min(S, max_speedup), and 0 below min_speedup. No code, a violation or a limit of time,
// memory or output gets `failure` alone.
struct KernelGymWeights {
  double correct = 0.5, speed = 0.5, coverage = 0.5;  // the paper's: 1, 1, 1
  double min_speedup = 0, max_speedup = 3;
  double failure = 0;
  CoverageKind kind = CoverageKind::kTime;
  Estimate estimate = Estimate::kMedian;
};
std::optional<Score> kernelgym_reward(const Finding& finding, const KernelGymWeights& weights = {});
// The same with [S >= threshold] in place of clip(S).
std::optional<Score> kernelgym_threshold_reward(const Finding& finding, double threshold = 1.01,
                                                const KernelGymWeights& weights = {});
// KernelGYM's steps: -1 failed, -0.5 not compiled, -0.3 incorrect; correct: 1, 0.8, 0.6, 0.4 and
// 0.2 from a speedup of 3, 2, 1.5, 1.2 and 1 on, -0.1 below (and without a time).
std::optional<Score> kernelgym_step_reward(const Finding& finding,
                                           Estimate estimate = Estimate::kMedian);

// Profiling-based rejection: with which probability a turn stays in the loss,
// clip((coverage - threshold) / softness, 0, 1); softness 0 is a hard cut at the threshold. Turns
// that are not correct, or have no coverage, stay.
struct Rejection {
  double threshold = 0.3, softness = 0.1;
  std::optional<double> keep_speedup;  // from this speedup on a turn stays whatever its coverage
  CoverageKind kind = CoverageKind::kTime;
};
double keep_probability(const Finding& finding, const Rejection& rejection = {});

}  // namespace kw::reward
