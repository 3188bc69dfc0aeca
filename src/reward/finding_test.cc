// From a verdict to what rewards see.
#include "reward/finding.h"

#include <gtest/gtest.h>

#include "reward/named_reward.h"

namespace kw::reward {
namespace {

using task::Outcome;

task::Verdict verdict(Outcome outcome) {
  task::Verdict out;
  out.outcome = outcome;
  out.speedup = task::Speedup{2, 1.5, 2.5};
  return out;
}

TEST(Finding, ProgressFollowsTheOutcome) {
  auto progress = [](Outcome outcome) { return finding_of(verdict(outcome)).progress; };
  EXPECT_EQ(progress(Outcome::kPassed), task::Progress::kCorrect);
  EXPECT_EQ(progress(Outcome::kNoisy), task::Progress::kCorrect);
  EXPECT_EQ(progress(Outcome::kWrongValue), task::Progress::kRightShape);
  EXPECT_EQ(progress(Outcome::kWrongShape), task::Progress::kRan);
  EXPECT_EQ(progress(Outcome::kRuntimeError), task::Progress::kCompiled);
  EXPECT_EQ(progress(Outcome::kTimeout), task::Progress::kCompiled);
  EXPECT_EQ(progress(Outcome::kViolation), task::Progress::kExtracted);
  EXPECT_EQ(progress(Outcome::kCompileError), task::Progress::kExtracted);
  EXPECT_EQ(no_code(true).progress, task::Progress::kNothing);
  EXPECT_TRUE(no_code(true).truncated);
}

TEST(Finding, OnlyAStrictPassIsCorrect) {
  task::Verdict lenient = verdict(Outcome::kWrongValue);
  lenient.kernelbench = {true, true, 1.0};
  lenient.flashinfer.status = "PASSED";
  Finding found = finding_of(lenient);
  EXPECT_FALSE(found.correct());
  EXPECT_FALSE(found.speedup);
  EXPECT_TRUE(finding_of(verdict(Outcome::kPassed)).correct());
  EXPECT_FALSE(finding_of(verdict(Outcome::kNoisy)).correct());
}

TEST(Finding, ABorderlinePassIsPaidAsAWrongValue) {
  task::Verdict near = verdict(Outcome::kPassed);
  near.coverage = task::Coverage{1, 1};
  near.workloads.emplace_back().borderline = task::Borderline{1.03, {0.97, 1.02}};
  const Finding found = finding_of(near);
  EXPECT_FALSE(found.correct());
  EXPECT_FALSE(found.speedup);
  EXPECT_TRUE(found.judged());
  const Finding wrong = finding_of(verdict(Outcome::kWrongValue));
  EXPECT_EQ(found.progress, wrong.progress);
  for (const char* term : {"gated_log", "correct", "kevin", "staged", "kernelgym",
                           "kernelgym_threshold", "kernelgym_step"}) {
    const RewardSettings settings{.terms = {term}};
    EXPECT_EQ(named_reward(found, settings)->total(), named_reward(wrong, settings)->total())
        << term;
    EXPECT_LT(named_reward(found, settings)->total(),
              named_reward(finding_of(verdict(Outcome::kPassed)), settings)->total())
        << term;
  }
}

TEST(Finding, NamesTheClockOfItsSpeedup) {
  task::Verdict busy = verdict(Outcome::kPassed);
  busy.clock = task::Clock::kProcessor;
  EXPECT_EQ(finding_of(busy).clock, task::Clock::kProcessor);
  busy.speedup.reset();
  EXPECT_FALSE(finding_of(busy).clock);
}

TEST(Finding, OtherPeoplesFaultsAreNotJudged) {
  for (Outcome outcome : {Outcome::kNoisy, Outcome::kQuarantined, Outcome::kUnsupported})
    EXPECT_FALSE(finding_of(verdict(outcome)).judged());
  for (Outcome outcome : {Outcome::kPassed, Outcome::kCompileError, Outcome::kViolation})
    EXPECT_TRUE(finding_of(verdict(outcome)).judged());
  EXPECT_TRUE(no_code(false).judged());
}

}  // namespace
}  // namespace kw::reward
