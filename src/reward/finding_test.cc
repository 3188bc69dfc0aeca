// From a verdict to what rewards see.
#include "reward/finding.h"

#include <gtest/gtest.h>

namespace kw::reward {
namespace {

using task::Outcome;

task::Verdict verdict(Outcome outcome) {
  task::Verdict out;
  out.outcome = outcome;
  out.speedup = task::Speedup{2, 1.5, 2.5};
  return out;
}

TEST(Finding, StageFollowsTheOutcome) {
  auto stage = [](Outcome outcome) { return finding_of(verdict(outcome)).stage; };
  EXPECT_EQ(stage(Outcome::kPassed), Stage::kCorrect);
  EXPECT_EQ(stage(Outcome::kWrongValue), Stage::kRightShape);
  EXPECT_EQ(stage(Outcome::kWrongShape), Stage::kRan);
  EXPECT_EQ(stage(Outcome::kRuntimeError), Stage::kCompiled);
  EXPECT_EQ(stage(Outcome::kTimeout), Stage::kCompiled);
  EXPECT_EQ(stage(Outcome::kCompileError), Stage::kExtracted);
  EXPECT_EQ(no_code(true).stage, Stage::kNoCode);
  EXPECT_TRUE(no_code(true).truncated);
  EXPECT_EQ(to_string(Stage::kRightShape), "right_shape");
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

TEST(Finding, OtherPeoplesFaultsAreNotJudged) {
  for (Outcome outcome : {Outcome::kNoisy, Outcome::kQuarantined, Outcome::kUnsupported})
    EXPECT_FALSE(finding_of(verdict(outcome)).judged());
  for (Outcome outcome : {Outcome::kPassed, Outcome::kCompileError, Outcome::kViolation})
    EXPECT_TRUE(finding_of(verdict(outcome)).judged());
  EXPECT_TRUE(no_code(false).judged());
}

}  // namespace
}  // namespace kw::reward
