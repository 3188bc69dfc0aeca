// Values by hand and what must hold of all rewards; tests/reward compares the formulas with Python.
#include "reward/execution.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace kw::reward {
namespace {

using task::Outcome;

Finding finding(Outcome outcome, double speedup = 0, double coverage = -1) {
  task::Verdict verdict;
  verdict.outcome = outcome;
  if (speedup > 0) verdict.speedup = task::Speedup{speedup, speedup / 2, speedup * 2};
  if (coverage >= 0) verdict.coverage = task::Coverage{coverage, coverage / 2};
  return finding_of(verdict);
}

double value(const std::optional<Score>& score) {
  return score ? score->total() : std::numeric_limits<double>::quiet_NaN();
}

TEST(StagedReward, LayerByLayer) {
  EXPECT_EQ(value(staged_reward(no_code(false), 0)), 0);
  EXPECT_EQ(value(staged_reward(finding(Outcome::kCompileError), 0.5)), 0.25);
  EXPECT_EQ(value(staged_reward(finding(Outcome::kRuntimeError), 0)), 0);
  EXPECT_EQ(value(staged_reward(finding(Outcome::kWrongShape), 0)), 2);
  EXPECT_EQ(value(staged_reward(finding(Outcome::kPassed, 0.5), 1)), 4);
  EXPECT_EQ(value(staged_reward(finding(Outcome::kPassed, 7), 1)), 4.5);
  EXPECT_EQ(value(staged_reward(finding(Outcome::kPassed), 1)), 3.5) << "not timed";
  StagedWeights every{1, 10, 100, 1000, 10000, 0, 1, 0, -5, Estimate::kMedian};
  EXPECT_EQ(value(staged_reward(finding(Outcome::kWrongValue), 0, every)), 1111);
  EXPECT_EQ(value(staged_reward(finding(Outcome::kRuntimeError), 0, every)), 11);
  EXPECT_EQ(value(staged_reward(finding(Outcome::kViolation), 1, every)), -5);
}

TEST(KevinReward, SpeedOnlyWhenCorrect) {
  EXPECT_EQ(value(kevin_reward(finding(Outcome::kPassed, 2))), 2.3);
  EXPECT_EQ(value(kevin_reward(finding(Outcome::kPassed))), 0.3);
  EXPECT_EQ(value(kevin_reward(finding(Outcome::kWrongValue, 2))), 0);
  KevinWeights careful{0.3, 3.0, -1, Estimate::kLow};
  EXPECT_EQ(value(kevin_reward(finding(Outcome::kPassed, 2), careful)), 1.3);
  EXPECT_EQ(value(kevin_reward(finding(Outcome::kPassed, 90), careful)), 3.3);
  EXPECT_EQ(value(kevin_reward(finding(Outcome::kViolation, 2), careful)), -1);
}

TEST(KernelGymReward, ThreeForms) {
  EXPECT_EQ(value(kernelgym_reward(finding(Outcome::kPassed, 9, 1))), 2.5);
  EXPECT_EQ(value(kernelgym_reward(finding(Outcome::kPassed, 2, 0.5))), 1.75);
  EXPECT_EQ(value(kernelgym_reward(finding(Outcome::kWrongValue, 2, 0.5))), 0);
  KernelGymWeights paper{1, 1, 1, 0, 3, 0, CoverageKind::kTime, Estimate::kMedian};
  EXPECT_EQ(value(kernelgym_reward(finding(Outcome::kPassed, 9, 1), paper)), 5);
  KernelGymWeights floor{1, 1, 0, 1.5, 3, -2, CoverageKind::kTime, Estimate::kMedian};
  EXPECT_EQ(value(kernelgym_reward(finding(Outcome::kPassed, 1.25), floor)), 1);
  EXPECT_EQ(value(kernelgym_reward(finding(Outcome::kTimeout), floor)), -2);
  EXPECT_EQ(value(kernelgym_reward(no_code(true), floor)), -2);
  EXPECT_EQ(value(kernelgym_reward(finding(Outcome::kCompileError), floor)), 0);
  EXPECT_EQ(value(kernelgym_threshold_reward(finding(Outcome::kPassed, 1.01))), 1);
  EXPECT_EQ(value(kernelgym_threshold_reward(finding(Outcome::kPassed, 1))), 0.5);
}

TEST(KernelGymReward, Steps) {
  auto step = [](const Finding& found) { return value(kernelgym_step_reward(found)); };
  EXPECT_EQ(step(no_code(false)), -1);
  EXPECT_EQ(step(finding(Outcome::kViolation)), -1);
  EXPECT_EQ(step(finding(Outcome::kCompileError)), -0.5);
  EXPECT_EQ(step(finding(Outcome::kRuntimeError)), -0.3);
  EXPECT_EQ(step(finding(Outcome::kPassed)), -0.1);
  EXPECT_EQ(step(finding(Outcome::kPassed, 0.99)), -0.1);
  EXPECT_EQ(step(finding(Outcome::kPassed, 1)), 0.2);
  EXPECT_EQ(step(finding(Outcome::kPassed, 1.2)), 0.4);
  EXPECT_EQ(step(finding(Outcome::kPassed, 1.5)), 0.6);
  EXPECT_EQ(step(finding(Outcome::kPassed, 2)), 0.8);
  EXPECT_EQ(step(finding(Outcome::kPassed, 30)), 1);
}

TEST(KeepProbability, RampAndCut) {
  auto keep = [](double coverage, const Rejection& rejection = {}) {
    return keep_probability(finding(Outcome::kPassed, 2, coverage), rejection);
  };
  EXPECT_EQ(keep(0.3), 0);
  EXPECT_NEAR(keep(0.35), 0.5, 1e-12);
  EXPECT_EQ(keep(0.9), 1);
  EXPECT_EQ(keep(0.3, {0.3, 0, std::nullopt, CoverageKind::kTime}), 1);
  EXPECT_EQ(keep(0.29, {0.3, 0, std::nullopt, CoverageKind::kTime}), 0);
  EXPECT_EQ(keep(0.1, {0.3, 0.1, 2.0, CoverageKind::kTime}), 1);
  EXPECT_EQ(keep(0.6, {0.35, 0, std::nullopt, CoverageKind::kCount}), 0);
  EXPECT_EQ(keep_probability(finding(Outcome::kWrongValue, 0, 0)), 1);
  EXPECT_EQ(keep_probability(finding(Outcome::kPassed, 2)), 1) << "not measured";
}

TEST(ExecutionRewards, NothingForWhatCouldNotBeJudged) {
  for (Outcome outcome : {Outcome::kNoisy, Outcome::kQuarantined, Outcome::kUnsupported}) {
    Finding found = finding(outcome, 2, 1);
    EXPECT_FALSE(staged_reward(found, 1));
    EXPECT_FALSE(kevin_reward(found));
    EXPECT_FALSE(kernelgym_reward(found));
    EXPECT_FALSE(kernelgym_threshold_reward(found));
    EXPECT_FALSE(kernelgym_step_reward(found));
  }
}

TEST(ExecutionRewards, BrokenNumbersAreNoSpeed) {
  Finding found = finding(Outcome::kPassed, 2);
  for (double broken : {std::nan(""), HUGE_VAL, -1.0}) {
    found.speedup->median = broken;
    EXPECT_EQ(speedup_of(found, Estimate::kMedian), 0);
  }
}

TEST(Score, AddsAndClips) {
  Score sum = Score{{{"a", 1}}} + Score{{{"b", 4}}};
  EXPECT_EQ(sum.total(), 5);
  Score held = clipped(sum, -1, 2);
  EXPECT_EQ(held.total(), 2);
  EXPECT_EQ(held.parts.back().name, "clip");
  EXPECT_EQ(held.parts.back().value, -3);
  EXPECT_EQ(clipped(sum, 6, 7).total(), 6);
}

}  // namespace
}  // namespace kw::reward
