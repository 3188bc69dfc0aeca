// From evidence to a verdict: whose outcome counts, which times and speedups there are, and the
// strongest form of the reference.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/evidence.h"

namespace kw::gym {
namespace {

using task::Outcome;
using ::testing::HasSubstr;

class EvidenceVerdictTest : public ::testing::Test {
 protected:
  // Twenty samples of each side, in nanoseconds.
  static WorkloadReport timed(double candidate, double reference) {
    WorkloadReport report;
    report.uuid = "u";
    report.timed = true;
    report.candidate_ns.assign(20, candidate);
    report.reference_ns.assign(20, reference);
    report.pair_samples = {20};
    report.errors = {{"y", 0, 0, 0.5, 3}};
    report.flashinfer.status = "PASSED";
    report.kernelbench = {.compiled = true, .correctness = true};
    return report;
  }
  static WorkloadReport ended(Outcome outcome) {
    WorkloadReport report;
    report.uuid = "v";
    report.outcome = outcome;
    if (outcome == Outcome::kViolation) report.violation = "protocol";
    return report;
  }
  static RivalReport rival(const char* name, double rival_ns, double reference_ns) {
    RivalReport report;
    report.baseline = name;
    report.rival_ns.assign(20, rival_ns);
    report.reference_ns.assign(20, reference_ns);
    return report;
  }
  static RivalReport failed_rival(const char* name) {
    RivalReport report;
    report.baseline = name;
    report.failure = "runtime_error";
    return report;
  }
  static task::Verdict verdict(std::vector<WorkloadReport> workloads) {
    Evidence evidence;
    evidence.workloads = std::move(workloads);
    auto made = verdict_of(evidence);
    EXPECT_TRUE(made) << made.error().message();
    return made ? std::move(*made) : task::Verdict();
  }
};

TEST_F(EvidenceVerdictTest, TimesAreMediansAndTheSpeedupIsOfTheSamples) {
  const task::Verdict made = verdict({timed(1e6, 3e6)});
  EXPECT_EQ(made.outcome, Outcome::kPassed);
  EXPECT_EQ(made.evidence_level, task::EvidenceLevel::kTimed);
  ASSERT_TRUE(made.times && made.speedup);
  EXPECT_DOUBLE_EQ(made.times->candidate_ms, 1);
  EXPECT_DOUBLE_EQ(made.times->reference_ms, 3);
  EXPECT_DOUBLE_EQ(made.kernelbench.runtime_ms, 1);
  EXPECT_NEAR(made.speedup->median, 3, 1e-9);
}

TEST_F(EvidenceVerdictTest, OverWorkloadsTheSpeedupIsTheGeometricMean) {
  EXPECT_NEAR(verdict({timed(1e6, 2e6), timed(1e6, 8e6)}).speedup->median, 4, 1e-9);
}

TEST_F(EvidenceVerdictTest, TooFewSamplesGiveATimeWithoutASpeedupAndSaySo) {
  WorkloadReport few = timed(1e6, 2e6);
  few.candidate_ns.resize(1);
  few.reference_ns.resize(1);
  few.pair_samples = {1};
  const task::Verdict made = verdict({few});
  EXPECT_TRUE(made.times);
  EXPECT_FALSE(made.speedup);
  EXPECT_THAT(made.workloads[0].diagnostics.at(0).message, HasSubstr("too few for an interval"));
  few.candidate_ns.clear();
  few.reference_ns.clear();
  few.pair_samples = {0};
  few.blocks = 2;
  const task::Verdict none = verdict({few});
  EXPECT_FALSE(none.times);
  EXPECT_EQ(none.evidence_level, task::EvidenceLevel::kUntimed);
  EXPECT_THAT(none.workloads[0].diagnostics.at(0).message, HasSubstr("no time: 2 blocks"));
}

// Whoever writes a bundle can also write its outcome.
TEST_F(EvidenceVerdictTest, AnErrorBeyondItsBudgetIsNoPass) {
  for (const double beyond : {1.0000001, double{INFINITY}, double{NAN}}) {
    WorkloadReport report = timed(1e6, 2e6);
    report.errors[0].max_of_budget = beyond;
    const task::Verdict made = verdict({report});
    EXPECT_EQ(made.outcome, Outcome::kWrongValue) << beyond;
    EXPECT_FALSE(made.speedup);
  }
  WorkloadReport report = timed(1e6, 2e6);
  report.errors[0].max_of_budget = 1;
  EXPECT_EQ(verdict({report}).outcome, Outcome::kPassed);
}

TEST_F(EvidenceVerdictTest, AnErrorBeyondItsBudgetPassesOnlyWhereAFurtherDrawDoes) {
  const auto outcome = [](double error, const task::Borderline& borderline) {
    WorkloadReport report = timed(1e6, 2e6);
    report.errors[0].max_of_budget = error;
    report.borderline = borderline;
    const task::Verdict made = verdict({report});
    EXPECT_EQ(made.workloads.at(0).borderline, borderline);
    EXPECT_EQ(task::is_borderline(made), made.outcome == Outcome::kPassed);
    return made.outcome;
  };
  EXPECT_EQ(outcome(1.05, {1.05, {1.02, 1}}), Outcome::kPassed);
  EXPECT_EQ(outcome(0.95, {0.95, {0.5, 1.04}}), Outcome::kPassed);
  EXPECT_EQ(outcome(1.05, {1.05, {1.02, 1.0001}}), Outcome::kWrongValue);
  EXPECT_EQ(outcome(0.95, {0.95, {1.02, 1.0001}}), Outcome::kWrongValue);
  EXPECT_EQ(outcome(1.05, {1.05, {0.5}}), Outcome::kWrongValue);
  EXPECT_EQ(outcome(1.05, {1.05, {0.5, 1.2}}), Outcome::kWrongValue);
  EXPECT_EQ(outcome(1.4, {1.4, {0.5, 0.5}}), Outcome::kPassed);
  EXPECT_EQ(outcome(4.1, {1.05, {0.5, 0.5}}), Outcome::kWrongValue);
  EXPECT_EQ(outcome(1.05, {4.1, {0.5, 0.5}}), Outcome::kWrongValue);
  EXPECT_EQ(outcome(1.05, {1.05, {0.5, -1}}), Outcome::kWrongValue);
}

TEST_F(EvidenceVerdictTest, TheWorstWorkloadIsTheVerdictsAndHasNoSpeedup) {
  task::Verdict made = verdict({timed(1e6, 2e6), ended(Outcome::kWrongValue)});
  EXPECT_EQ(made.outcome, Outcome::kWrongValue);
  EXPECT_FALSE(made.speedup);
  EXPECT_FALSE(made.kernelbench.correctness);
  made = verdict({ended(Outcome::kViolation), ended(Outcome::kWrongValue), timed(1e6, 2e6)});
  EXPECT_EQ(made.outcome, Outcome::kViolation);
  EXPECT_EQ(made.violation, "protocol");
  EXPECT_EQ(verdict({timed(1e6, 2e6), ended(Outcome::kNoisy)}).outcome, Outcome::kNoisy);
}

TEST_F(EvidenceVerdictTest, ACandidatesTextIsToldWhereItDidNotPass) {
  for (const Outcome outcome : {Outcome::kPassed, Outcome::kRuntimeError}) {
    WorkloadReport report = ended(outcome);
    report.log = "Traceback\x1b[2J";
    const auto diagnostics = verdict({report}).workloads[0].diagnostics;
    EXPECT_EQ(diagnostics.size(), outcome == Outcome::kPassed ? 0U : 1U);
    for (const task::Diagnostic& diagnostic : diagnostics) {
      EXPECT_EQ(diagnostic.kind, "log");
      EXPECT_EQ(diagnostic.message.find('\x1b'), std::string::npos);
    }
  }
}

TEST_F(EvidenceVerdictTest, ARefusalOutranksWhatWorkloadsSay) {
  Evidence evidence;
  evidence.workloads = {ended(Outcome::kViolation)};
  evidence.unsupported = "language x";
  EXPECT_EQ(verdict_of(evidence)->outcome, Outcome::kUnsupported);
  EXPECT_EQ(verdict_of(evidence)->violation, "");
  evidence.quarantined = "zeros pass";
  EXPECT_EQ(verdict_of(evidence)->outcome, Outcome::kQuarantined);
  EXPECT_FALSE(verdict_of(Evidence()));  // nothing was judged, and nobody says why
}

TEST_F(EvidenceVerdictTest, WhatDoesNotCompileHasTheCompilersWordsAndNoBenchmarkPasses) {
  Evidence evidence;
  evidence.workloads = {ended(Outcome::kCompileError)};
  evidence.compile_error = "error: expected ';'";
  const task::Verdict made = verdict_of(evidence).value();
  EXPECT_EQ(made.outcome, Outcome::kCompileError);
  EXPECT_FALSE(made.kernelbench.compiled);
  EXPECT_EQ(made.flashinfer.status, "COMPILE_ERROR");
  EXPECT_EQ(made.diagnostics.at(0).kind, "compiler");
}

TEST_F(EvidenceVerdictTest, TheLevelOfAnUntimedPassIsTheBenchsOrUntimed) {
  Evidence evidence;
  evidence.workloads = {ended(Outcome::kPassed)};
  EXPECT_EQ(verdict_of(evidence)->evidence_level, task::EvidenceLevel::kUntimed);
  evidence.evidence_level = task::EvidenceLevel::kInterpreted;
  EXPECT_EQ(verdict_of(evidence)->evidence_level, task::EvidenceLevel::kInterpreted);
  evidence.workloads = {timed(1e6, 2e6)};
  EXPECT_EQ(verdict_of(evidence)->evidence_level, task::EvidenceLevel::kTimed);
}

// The candidate is four times as fast as the baseline; one rival is twice as fast, one slower.
TEST_F(EvidenceVerdictTest, TheStrongestIsTheFastestRivalThatHasATime) {
  WorkloadReport report = timed(1e6, 4e6);
  report.rivals = {rival("compile", 2e6, 4e6), rival("max-autotune", 8e6, 4e6),
                   failed_rival("other")};
  task::Verdict made = verdict({report});
  ASSERT_TRUE(made.strongest);
  EXPECT_EQ(made.strongest->baseline, "compile");
  EXPECT_NEAR(made.strongest->speedup.median, 2, 1e-9);
  EXPECT_NEAR(made.speedup->median, 4, 1e-9);
  const auto& rivals = made.workloads[0].rivals;
  ASSERT_EQ(rivals.size(), 3U);
  EXPECT_NEAR(rivals[1].over_baseline->median, 0.5, 1e-9);
  EXPECT_FALSE(rivals[2].over_baseline);
  EXPECT_EQ(rivals[2].failure, "runtime_error");
  // The baseline itself is the strongest where none is faster.
  report.rivals = {rival("compile", 5e6, 4e6)};
  made = verdict({report});
  EXPECT_EQ(made.strongest->baseline, "eager");
  EXPECT_NEAR(made.strongest->speedup.median, 4, 1e-9);
  report.rivals[0].rival_ns.resize(1);
  report.rivals[0].reference_ns.resize(1);
  EXPECT_EQ(verdict({report}).workloads[0].rivals[0].failure, "too few samples");
}

TEST_F(EvidenceVerdictTest, TheStrongestOfSeveralWorkloadsNeedsOneOnEach) {
  WorkloadReport first = timed(1e6, 4e6), second = timed(1e6, 4e6);
  first.rivals = {rival("compile", 2e6, 4e6)};
  EXPECT_FALSE(verdict({first, second}).strongest);
  second.rivals = {rival("max-autotune", 1e6, 4e6)};
  const task::Verdict made = verdict({first, second});
  ASSERT_TRUE(made.strongest);
  EXPECT_EQ(made.strongest->baseline, "several");
  EXPECT_NEAR(made.strongest->speedup.median, std::sqrt(2.0), 1e-9);
  second.rivals = {rival("compile", 1e6, 4e6)};
  EXPECT_EQ(verdict({first, second}).strongest->baseline, "compile");
}

}  // namespace
}  // namespace kw::gym
