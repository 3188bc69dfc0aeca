// Judgements with hard inputs among the ordinary ones: kernels that are wrong on them alone, and
// references that cannot be judged by there.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/judgement.h"
#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::compute_workload;
using testing::ExecutorScript;
using testing::FakeWorkload;
using testing::ScriptedCall;

constexpr float kLargeInput = 20;

SessionOptions without_timing() {
  SessionOptions options;
  options.timing = false;
  return options;
}

// With every hard case there is.
void mix(FakeWorkload& workload) {
  workload.hard = HardCases(workload.signature, workload.inputs, workload.checker, workload.seeds);
}

Result<WorkloadReport> report_on(FakeWorkload& workload, ExecutorScript script) {
  JudgingContext context = workload.context();
  auto turn = TurnScope::begin(workload.turn);
  return Judgement(context, workload.candidate(std::move(script))).run();
}

Result<WorkloadReport> judge_mixed(FakeWorkload& workload, ExecutorScript script) {
  if (workload.baseline == nullptr) {
    workload.learn_from_oracle();
    workload.start_baseline();
    mix(workload);
  }
  return report_on(workload, std::move(script));
}

bool has_large(std::span<const float> x) {
  return std::ranges::any_of(x, [](float v) { return std::abs(v) > kLargeInput; });
}

// Right for ordinary values from call `first` on.
ExecutorScript wrong_for_large_values(int first = 0) {
  ExecutorScript script;
  script.kernel = [first](const ScriptedCall& call) {
    compute_workload(call);
    if (call.launch >= first && has_large(call.x())) call.y()[3] = 0;
  };
  return script;
}

ExecutorScript right_kernel() {
  ExecutorScript script;
  script.kernel = compute_workload;
  return script;
}

TEST(MixedInputs, FindAKernelThatIsWrongOnHardInputsAlone) {
  for (bool timing : {true, false}) {
    SessionOptions options;
    options.timing = timing;
    FakeWorkload workload(options);
    const auto report = judge_mixed(workload, wrong_for_large_values());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, task::Outcome::kWrongValue);
    EXPECT_NE(report->diagnostics.at(0).message.find("(hard inputs: "), std::string::npos)
        << report->diagnostics.at(0).message;
    FakeWorkload ordinary(options);
    ordinary.learn_from_oracle();
    ordinary.start_baseline();
    EXPECT_EQ(report_on(ordinary, wrong_for_large_values())->outcome, task::Outcome::kPassed);
  }
}

// A GPU's large outputs are judged so.
TEST(MixedInputs, FindAKernelWhoseLargeOutputsAreJudgedInParts) {
  task::Signature signature = testing::workload_signature();
  signature.outputs[0].shape = {4, testing::kWorkloadElements / 4};
  FakeWorkload workload(without_timing(), signature);
  workload.reference.judge_in_parts_beyond(testing::kWorkloadElements / 4);
  workload.learn_from_oracle();
  workload.start_baseline();
  mix(workload);
  for (int number = 0; number < 8; ++number) {
    const auto report = report_on(workload, wrong_for_large_values());
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->outcome, task::Outcome::kWrongValue);
  }
  EXPECT_EQ(report_on(workload, right_kernel())->outcome, task::Outcome::kPassed);
}

// However late it begins: hard calls are left when the last sample has been taken.
TEST(MixedInputs, FindAKernelThatCountsItsCalls) {
  FakeWorkload workload;
  const auto report = judge_mixed(workload, wrong_for_large_values(14));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, task::Outcome::kWrongValue);
}

TEST(MixedInputs, EveryCaseIsCalledWhereCallsAreQuick) {
  for (bool timing : {true, false}) {
    SessionOptions options;
    options.timing = timing;
    FakeWorkload workload(options);
    const auto report = judge_mixed(workload, right_kernel());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, task::Outcome::kPassed);
    ASSERT_EQ(report->hard_inputs.size(), 12U);  // two mixes, ten kinds alone
    for (const task::HardInputs& hard : report->hard_inputs) {
      EXPECT_GE(hard.calls, 1) << hard.inputs;
      EXPECT_EQ(hard.left_out, "") << hard.inputs;
    }
  }
}

// The first call, or all calls of the first block, may be hard.
TEST(MixedInputs, BenchmarksRulesSeeAnOrdinaryCall) {
  for (bool timing : {true, false}) {
    SessionOptions options;
    options.timing = timing;
    FakeWorkload workload(options);
    for (int i = 0; i < 30; ++i) {
      const auto report = judge_mixed(workload, right_kernel());
      ASSERT_TRUE(report);
      ASSERT_EQ(report->flashinfer.status, "PASSED");
    }
  }
}

TEST(MixedInputs, AreNotTimed) {
  FakeWorkload workload;
  ExecutorScript slow_on_large = right_kernel();
  auto is_large = std::make_shared<bool>(false);
  slow_on_large.kernel = [is_large](const ScriptedCall& call) {
    compute_workload(call);
    *is_large = has_large(call.x());
  };
  const auto report = judge_mixed(workload, slow_on_large);
  ASSERT_TRUE(report);
  EXPECT_TRUE(std::ranges::all_of(report->candidate_ns, [](double ns) { return ns == 1e6; }));
  EXPECT_GE(report->candidate_ns.size(), 8U);
  // Eight samples are four blocks; calls of the first block may be hard.
  EXPECT_GE(report->blocks, 4 + 12 / 2);
}

TEST(MixedInputs, SlowInterpretersGetThreeCalls) {
  FakeWorkload workload(without_timing());
  ExecutorScript script = right_kernel();
  script.wall = std::chrono::milliseconds(600);
  const auto report = judge_mixed(workload, script);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->blocks, 3);
  EXPECT_EQ(report->hard_inputs.at(0).calls, 1);  // the mixes of all kinds
  EXPECT_EQ(report->hard_inputs.at(1).calls, 1);
}

// Their inputs take time too: get_inputs() of a module, say.
TEST(MixedInputs, SlowInputsLeaveTimeForFiveHardCalls) {
  FakeWorkload workload;
  workload.learn_from_oracle();
  workload.start_baseline();
  mix(workload);
  workload.hard.set_fill_time(std::chrono::milliseconds(500));
  const auto report = report_on(workload, right_kernel());
  ASSERT_TRUE(report);
  std::int64_t called = 0;
  for (const task::HardInputs& hard : report->hard_inputs) called += hard.calls > 0 ? 1 : 0;
  EXPECT_EQ(called, 5);
  EXPECT_GE(report->hard_inputs.at(0).calls, 1);
  EXPECT_GE(report->hard_inputs.at(1).calls, 1);
}

// sqrt(x + 30) has no value for large negative inputs.
double root(double x) {
  return std::sqrt(x + 30);
}
ExecutorScript rooting() {
  ExecutorScript script;
  script.kernel = [](const ScriptedCall& call) {
    for (std::size_t i = 0; i < call.x().size(); ++i)
      call.y()[i] = static_cast<float>(root(static_cast<double>(call.x()[i])));
  };
  return script;
}

TEST(MixedInputs, AKindOnWhichTheReferenceGivesNanIsLeftOut) {
  FakeWorkload workload;
  workload.oracle = testing::ScriptedOracle(root);
  ASSERT_TRUE(workload.oracle.attach_exchange(workload.signature).value().ok);
  workload.learn_from_oracle();
  workload.start_baseline(rooting());
  mix(workload);
  const auto report = report_on(workload, rooting());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, task::Outcome::kPassed);
  std::map<std::string, task::HardInputs> by_name;
  for (const task::HardInputs& hard : report->hard_inputs) by_name[hard.inputs] = hard;
  EXPECT_NE(by_name.at("scaled up").left_out.find("NaN"), std::string::npos);
  EXPECT_EQ(by_name.at("large mean").left_out, "");
  EXPECT_GE(by_name.at("large mean").calls, 1);
  // The mix goes on without it.
  EXPECT_EQ(report->hard_inputs.at(0).left_out, "");
  EXPECT_EQ(report->hard_inputs.at(0).inputs.find("scaled up"), std::string::npos);
  EXPECT_NE(report->hard_inputs.at(0).inputs.find("negative"), std::string::npos);
}

TEST(MixedInputs, NobodyIsConvictedWhereOtherOperatorsDisagree) {
  FakeWorkload workload;
  workload.oracle.second_error = 0.1;
  const auto report = judge_mixed(workload, wrong_for_large_values());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, task::Outcome::kPassed);
  EXPECT_TRUE(std::ranges::any_of(report->hard_inputs, [](const task::HardInputs& hard) {
    return hard.left_out.find("other operators") != std::string::npos;
  }));
}

// Just beyond what ordinary inputs allow, and within the error budget of hard ones.
ExecutorScript doubtful() {
  ExecutorScript script;
  script.kernel = [](const ScriptedCall& call) {
    compute_workload(call);
    if (has_large(call.x())) call.y()[0] = std::nextafter(call.y()[0], 1e9F);
  };
  return script;
}

TEST(MixedInputs, OneRunOfTheReferenceServesManyCandidates) {
  FakeWorkload workload(without_timing());
  const auto first = judge_mixed(workload, wrong_for_large_values());
  const std::size_t runs = workload.oracle.runs().size();
  std::size_t known = 0;
  for (std::size_t i = 0; i < workload.hard.size(); ++i)
    known += workload.hard.at(i).known != nullptr ? 1U : 0U;
  EXPECT_EQ(known, 1U);  // made when it was asked for
  ASSERT_TRUE(judge_mixed(workload, doubtful()));
  EXPECT_GE(workload.oracle.runs().size(), runs);
}

}  // namespace
}  // namespace kw::gym
