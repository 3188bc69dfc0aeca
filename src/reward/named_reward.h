// NamedReward: rewards as a configuration names them. The terms are added; each is a formula of
// execution.h, or one of the two here.
//
//   gated_log   log(speedup), held to [-log(max_speedup), log(max_speedup)], for correct answers
//               that were timed; -log(max_speedup) for wrong ones. Speed counts only when correct.
//   correct     1 for a correct answer, else 0
//   kevin, staged, kernelgym, kernelgym_threshold, kernelgym_step   as in execution.h
//
// All terms but `correct` pay for speed: a correct answer without a speedup has no reward by them.
// Its measurement found none in its time, which says nothing about the answer.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "reward/execution.h"

namespace kw::reward {

struct RewardSettings {
  std::vector<std::string> terms = {"kevin"};
  std::vector<double> weights = {};  // one a term; empty: 1 each
  double max_speedup = 3;            // over 1
  double threshold = 1.01;           // of kernelgym_threshold
  double violation = 0;              // added to the sum where a rule was broken; at most 0
  std::string estimate = "median";   // of the speedup: or low, the low end of its interval
};

template <typename Settings, typename Visit>
void describe(Settings& s, Visit&& visit) {
  visit("terms", s.terms);
  visit("weights", s.weights);
  visit("max_speedup", s.max_speedup);
  visit("threshold", s.threshold);
  visit("violation", s.violation);
  visit("estimate", s.estimate);
}

// kInvalidArgument names the key.
Status check(const RewardSettings& settings);

// The sum of the terms, each times its weight. nullopt where the answer could not be judged, or not
// timed where a term pays for speed.
// settings: those that check() takes (KW_CHECK).
std::optional<Score> named_reward(const Finding& finding, const RewardSettings& settings);

}  // namespace kw::reward
