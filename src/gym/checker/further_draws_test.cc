// Judgements of candidates whose error is planted at about one budget.
#include "gym/checker/further_draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/checker/judgement.h"
#include "gym/checker/testing/fake_judgement.h"

namespace kw::gym {
namespace {

using task::Borderline;
using task::Outcome;
using testing::add_to_least_result;
using testing::compute_workload;
using testing::ExecutorScript;
using testing::FakeWorkload;
using ::testing::HasSubstr;
using testing::ScriptedCall;

constexpr int kChecked = 3;  // calls before the further draws
constexpr double kPasses = 0.5, kNearPass = 0.95, kNearFailure = 1.05, kFar = 1.2, kFarther = 5;

// Errors of one element by call: of all checked ones, and of the two further draws.
struct Planted {
  double checked = 0;
  std::array<double, Borderline::kDraws> further = {};
  double at(int launch) const {
    const int draw = launch - kChecked;
    return draw < 0 ? checked : further.at(static_cast<std::size_t>(std::min(draw, 1)));
  }
};

struct Judged {
  WorkloadReport report;
  int launches = 0;
  std::string message() const {
    return report.diagnostics.empty() ? "" : report.diagnostics[0].message;
  }
};

Judged judge(const Planted& planted, std::uint64_t session = 7,
             std::function<void(int, LaunchResult&)> on_launch = {}) {
  SessionOptions untimed;
  untimed.timing = false;
  FakeWorkload workload(untimed);
  workload.seeds = SessionSeeds(SecretSeeds(session));
  workload.learn_from_oracle(false);
  workload.start_baseline();
  Judged out;
  ExecutorScript script;
  script.on_launch = std::move(on_launch);
  script.kernel = [&](const ScriptedCall& call) {
    compute_workload(call);
    add_to_least_result(call, planted.at(call.launch));
    out.launches = call.launch + 1;
  };
  JudgingContext context = workload.context();
  auto turn = TurnScope::begin(workload.turn);
  auto report = Judgement(context, workload.candidate(std::move(script))).run();
  EXPECT_TRUE(report) << report.error().message();
  if (report) out.report = *report;
  return out;
}

// The error of checked calls that makes the largest share of a budget at least this.
double checked_error(double share) {
  static std::map<double, double> known;
  for (double error = 1e-6; error < 1e-3 && !known.contains(share); error *= 1.01) {
    const WorkloadReport report = judge({error}).report;
    if (report.borderline && report.borderline->largest >= share) known[share] = error;
  }
  EXPECT_TRUE(known.contains(share)) << "no error of " << share << " budgets";
  return known[share];
}

// These shares of their budgets in all calls.
Planted planted(double checked, double first, double second) {
  Planted out{checked_error(checked)};
  // An error is a share of its budget in proportion.
  const double probe = out.checked;
  const Borderline found =
      judge({out.checked, {probe, probe}}).report.borderline.value_or(Borderline{0, {1, 1}});
  out.further = {first * probe / found.further.at(0), second * probe / found.further.at(1)};
  return out;
}

TEST(FurtherDraws, ARightCandidateHasNone) {
  const Judged judged = judge({});
  EXPECT_EQ(judged.report.outcome, Outcome::kPassed);
  EXPECT_FALSE(judged.report.borderline);
  EXPECT_EQ(judged.launches, kChecked);
}

TEST(FurtherDraws, ANearFailurePassesWhereADrawPasses) {
  for (const auto& [first, second] : {std::pair(kPasses, kPasses),
                                      {kNearFailure, kPasses},
                                      {kPasses, kNearFailure},
                                      {kNearFailure, kNearPass}}) {
    const Judged judged = judge(planted(1.01, first, second));
    EXPECT_EQ(judged.report.outcome, Outcome::kPassed) << first << " " << second;
    EXPECT_EQ(judged.launches, kChecked + 2);
    ASSERT_TRUE(judged.report.borderline);
    const Borderline& found = *judged.report.borderline;
    EXPECT_GT(found.largest, 1);
    EXPECT_LE(found.largest, Borderline::kTo);
    ASSERT_EQ(found.further.size(), 2U);
    EXPECT_NEAR(found.further[0], first, 0.03);
    EXPECT_NEAR(found.further[1], second, 0.03);
    EXPECT_GT(judged.report.errors.at(0).max_of_budget, 1);
    EXPECT_LE(judged.report.errors.at(0).max_of_budget, Borderline::kTo);
    ASSERT_EQ(judged.report.diagnostics.size(), 1U);
    EXPECT_EQ(judged.report.diagnostics[0].kind, "borderline");
    EXPECT_THAT(judged.message(), HasSubstr("two further draws decided ("));
  }
}

TEST(FurtherDraws, TwoFailuresAreConfirmed) {
  for (double checked : {0.92, 1.01}) {
    const Judged judged = judge(planted(checked, kNearFailure, kNearFailure));
    EXPECT_EQ(judged.report.outcome, Outcome::kWrongValue) << checked;
    EXPECT_GT(judged.report.errors.at(0).max_of_budget, 1);
    ASSERT_EQ(judged.report.diagnostics.size(), 2U);
    EXPECT_EQ(judged.report.diagnostics[0].kind, "mismatch");
    EXPECT_THAT(judged.message(), HasSubstr("output y: "));
    EXPECT_EQ(judged.report.diagnostics[1].kind, "borderline");
  }
}

TEST(FurtherDraws, ANearPassIsToldToo) {
  const Judged judged = judge(planted(0.92, kPasses, kPasses));
  EXPECT_EQ(judged.report.outcome, Outcome::kPassed);
  ASSERT_TRUE(judged.report.borderline);
  EXPECT_LT(judged.report.borderline->largest, 1);
}

// Well within its budget by one perturbed run. By eight it may be near, or beyond.
TEST(FurtherDraws, AnErrorInDoubtIsSettledByADraw) {
  Planted doubtful = planted(0.92, kPasses, kPasses);
  doubtful.checked *= 0.7;
  const Judged settled = judge(doubtful);
  EXPECT_EQ(settled.report.outcome, Outcome::kPassed);
  EXPECT_FALSE(settled.report.borderline);
  EXPECT_EQ(settled.launches, kChecked + 1);
  for (double near : {kNearPass, kNearFailure}) {
    doubtful.further = planted(0.92, near, near).further;
    const Judged judged = judge(doubtful);
    EXPECT_EQ(judged.report.outcome, near < 1 ? Outcome::kPassed : Outcome::kWrongValue);
    ASSERT_TRUE(judged.report.borderline) << near;
    EXPECT_NEAR(judged.report.borderline->largest, near, 0.03);
    EXPECT_EQ(judged.launches, kChecked + 2);
  }
  doubtful.further = planted(0.92, kPasses, kPasses).further;
  doubtful.further[0] *= kFarther / kPasses;
  const Judged far = judge(doubtful);
  EXPECT_EQ(far.report.outcome, Outcome::kWrongValue);
  EXPECT_FALSE(far.report.borderline);
}

TEST(FurtherDraws, ADrawFarBeyondItsBudgetConvictsAlone) {
  for (const auto& [first, second] : {std::pair(kFar, kPasses), {kPasses, kFar}}) {
    const Judged judged = judge(planted(1.01, first, second));
    EXPECT_EQ(judged.report.outcome, Outcome::kWrongValue);
    ASSERT_TRUE(judged.report.borderline);
    EXPECT_NEAR(judged.report.borderline->further.at(first == kFar ? 0 : 1), kFar, 0.03);
  }
  const Judged judged = judge(planted(1.01, kFarther, kPasses));
  EXPECT_EQ(judged.report.outcome, Outcome::kWrongValue);
  EXPECT_FALSE(judged.report.borderline);
  EXPECT_EQ(judged.launches, kChecked + 1);
}

TEST(FurtherDraws, AFarErrorOfCheckedCallsNeedsNone) {
  Planted far = planted(1.01, kPasses, kPasses);
  far.checked *= kFarther;
  const Judged judged = judge(far);
  EXPECT_EQ(judged.report.outcome, Outcome::kWrongValue);
  EXPECT_FALSE(judged.report.borderline);
  EXPECT_LE(judged.launches, kChecked);
}

TEST(FurtherDraws, AnotherFaultInADrawIsThatFault) {
  const Judged judged = judge({checked_error(1.01)}, 7, [](int launch, LaunchResult& result) {
    if (launch == kChecked + 1) result.end = LaunchEnd::kTimeout;
  });
  EXPECT_EQ(judged.report.outcome, Outcome::kTimeout);
  EXPECT_FALSE(judged.report.borderline);
}

// The draws are the same, whatever secret inputs brought them about.
TEST(FurtherDraws, AreTheSameInEverySession) {
  const double error = checked_error(1.01);
  std::vector<std::vector<double>> further;
  for (std::uint64_t session = 7; session < 40; ++session) {
    const WorkloadReport report = judge({error, {error, error}}, session).report;
    if (report.borderline) further.push_back(report.borderline->further);
  }
  ASSERT_GE(further.size(), 2U);
  for (const auto& one : further) EXPECT_EQ(one, further[0]);
}

bool has_large(std::span<const float> x) {
  return std::ranges::any_of(x, [](float v) { return std::abs(v) > 20; });
}

double mean_magnitude(std::span<const float> values) {
  double sum = 0;
  for (float value : values) sum += std::abs(static_cast<double>(value));
  return sum / static_cast<double>(values.size());
}

// Errors on hard inputs alone, in proportion to their results. The first that is near its budget on
// them is returned.
TEST(FurtherDraws, OfAHardCaseHaveItsInputsWhichAreSecretAgainAfterwards) {
  SessionOptions untimed;
  untimed.timing = false;
  bool found = false;
  for (double error = 1e-7; error < 1e-4 && !found; error *= 1.01) {
    FakeWorkload workload(untimed);
    workload.learn_from_oracle(false);
    // float64 is asked about each hard call, as the baseline errs there.
    ExecutorScript baseline;
    baseline.kernel = [](const ScriptedCall& call) {
      compute_workload(call);
      if (has_large(call.x())) call.y()[0] += 1e3F;
    };
    workload.start_baseline(baseline);
    workload.hard =
        HardCases(workload.signature, workload.inputs, workload.checker, workload.seeds);
    bool is_last_hard = false;
    ExecutorScript script;
    script.kernel = [&](const ScriptedCall& call) {
      compute_workload(call);
      is_last_hard = has_large(call.x());
      if (is_last_hard) add_to_least_result(call, error * mean_magnitude(call.y()));
    };
    JudgingContext context = workload.context();
    auto turn = TurnScope::begin(workload.turn);
    const auto report = Judgement(context, workload.candidate(script)).run();
    ASSERT_TRUE(report) << report.error().message();
    if (!report->borderline) continue;
    found = true;
    EXPECT_EQ(report->borderline->further.size(), 2U);
    EXPECT_TRUE(is_last_hard);
    SessionSeeds seeds;
    const SessionSeeds::Known known(
        seeds, SecretSeeds(known_seed_of(workload.signature)).seed("further draw", 1));
    const std::uint64_t no_secret = seeds.next();
    for (std::size_t i = 0; i < workload.hard.size(); ++i)
      EXPECT_NE(workload.hard.at(i).seed, no_secret);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace kw::gym
