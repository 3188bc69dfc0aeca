// The findings of admission about a problem: trivial candidates that pass, inputs without
// influence, a reference that does not agree with itself.
#include "gym/checker/admission.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/learning.h"
#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::FakeWorkload;
using testing::ScriptedOracle;

// A problem of one more input that does not matter.
class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionReport admit(ScriptedOracle& oracle, bool has_spare_input = false) {
    task::Signature signature = testing::workload_signature();
    if (parts_beyond > 0) signature.outputs[0].shape = {8, testing::kWorkloadElements / 8};
    std::vector<InputPlan> plans = {testing::input_plan("x")};
    plans[0].policy = policy;
    if (has_spare_input) {
      signature.inputs.push_back(testing::float_tensor("spare", task::Role::kInput));
      plans.push_back(testing::input_plan("spare"));
    }
    EXPECT_TRUE(oracle.attach_exchange(signature).value().ok);
    OutputChecker checker = OutputChecker::make(signature, {}).value();
    ReceivedFds none;
    InputSource inputs = InputSource::of_definition(signature, plans, none).value();
    testing::VectorTensors set(Layout::for_reading(tensors_of(signature.inputs)));
    SessionSeeds seeds{SecretSeeds(seed)};
    ReferenceRuns reference(oracle, signature, checker, nullptr, seeds);
    if (parts_beyond > 0) reference.judge_in_parts_beyond(parts_beyond);
    LearnedInstances learned;
    bool unfit = false;
    EXPECT_TRUE(learn({inputs, reference, checker, set, seeds}, learned, unfit).value().ok);
    if (after_learning) after_learning();
    HardCases hard;
    if (is_timed) hard = HardCases(signature, inputs, checker, seeds);
    return run_admission_battery({signature, checker, learned, reference, inputs, set, hard, seeds})
        .value();
  }
  std::function<void()> after_learning;
  bool is_timed = false;
  std::int64_t parts_beyond = 0;  // elements of an output that is judged in parts; 0: judged whole
  std::uint64_t seed = 3;
  task::InputPolicy policy;  // of x
};

TEST_F(AdmissionTest, AnHonestProblem) {
  ScriptedOracle oracle(testing::workload_function);
  const AdmissionReport report = admit(oracle);
  EXPECT_EQ(report.failure, "");
  EXPECT_TRUE(report.passing.empty()) << report.passing.at(0);
  EXPECT_TRUE(report.inert.empty());
}

// Parts are blocks of 3 of the 8 rows: the last one has 2.
TEST_F(AdmissionTest, PartsOfOneOutputMayDifferInSize) {
  parts_beyond = 100;
  for (seed = 1; seed < 20; ++seed) {
    ScriptedOracle oracle(testing::workload_function);
    const AdmissionReport report = admit(oracle);
    EXPECT_EQ(report.failure, "");
    EXPECT_TRUE(report.passing.empty()) << seed << ": " << report.passing.at(0);
  }
}

TEST_F(AdmissionTest, HardInputsTellAReluFromACopy) {
  policy = {task::Distribution::kUniform, 0.0, 1.0, task::InputDomain::kAny};
  ScriptedOracle oracle([](double x) { return std::max(x, 0.0); });
  EXPECT_EQ(admit(oracle).passing, std::vector<std::string>{"input 0 passed through"});
  is_timed = true;
  EXPECT_TRUE(admit(oracle).passing.empty());
  // With inputs that are never negative it stays a copy.
  policy.domain = task::InputDomain::kPositive;
  EXPECT_EQ(admit(oracle).passing, std::vector<std::string>{"input 0 passed through"});
}

TEST_F(AdmissionTest, AnInputMattersWhereHardInputsShowIt) {
  ScriptedOracle oracle([](double x) { return std::max(x, 10.0); });
  EXPECT_EQ(admit(oracle).inert, std::vector<std::string>{"x"});
  is_timed = true;
  EXPECT_TRUE(admit(oracle).inert.empty());
}

TEST_F(AdmissionTest, AConstantIsPassedByTrivialCandidatesAndNoInputMatters) {
  ScriptedOracle oracle([](double) { return 0.0; });
  const AdmissionReport report = admit(oracle);
  EXPECT_FALSE(report.passing.empty());
  EXPECT_EQ(report.inert, std::vector<std::string>{"x"});
}

// Computed in bfloat16 such a result is right.
TEST_F(AdmissionTest, OutputsOfFewValuesAreNotTriedInLowerPrecision) {
  ScriptedOracle signs([](double x) { return x > 0 ? 1.0 : -1.0; });
  EXPECT_TRUE(admit(signs).passing.empty());
  ScriptedOracle steps([](double x) { return 0.75 * std::round(4 * x); });
  EXPECT_TRUE(admit(steps).passing.empty());
}

// The first element of the inputs that the oracle has now.
float first_input(ScriptedOracle& oracle) {
  float value = 0;
  std::memcpy(&value, oracle.input(0).data(), sizeof value);
  return value;
}

// One draw of a result of two values says little: on further draws, an answer that half of them
// pass is wrong, and one that nearly all pass is right.
TEST_F(AdmissionTest, FurtherDrawsGiveTheSameAnswerEachTime) {
  constexpr float kHalf = 0, kNearlyAll = 2;  // of a normal distribution are below
  for (const float limit : {kHalf, kNearlyAll}) {
    bool is_common = true;
    ScriptedOracle oracle([&](double) { return is_common ? 7.0 / 3 : -1.0 / 3; });
    oracle.on_run = [&] { is_common = first_input(oracle) < limit; };
    for (seed = 1; seed <= 20; ++seed) {
      const std::vector<std::string> passing = admit(oracle).passing;
      EXPECT_EQ(std::ranges::find(passing, "another seed's output") != passing.end(),
                limit == kNearlyAll)
          << seed;
    }
  }
}

// Another seed's answer passes on three draws of four, where either answer is right.
TEST_F(AdmissionTest, WhereEitherAnswerIsRightItIsTheSameEachTime) {
  for (const float limit : {1.05F, 1.1F, 1.15F}) {
    bool is_common = true;
    ScriptedOracle oracle([&](double) { return is_common ? 7.0 / 3 : -1.0 / 3; });
    oracle.on_run = [&] { is_common = first_input(oracle) < limit; };
    for (const bool timed : {false, true}) {
      is_timed = timed;
      seed = 1;
      const std::vector<std::string> first = admit(oracle).passing;
      for (seed = 2; seed <= 20; ++seed) EXPECT_EQ(admit(oracle).passing, first) << seed;
    }
  }
}

TEST_F(AdmissionTest, AnInputThatSeldomMattersMatters) {
  bool shows = false;
  ScriptedOracle oracle([&](double x) { return shows ? x : 7.0 / 3; });
  oracle.on_run = [&] { shows = first_input(oracle) > 1; };
  for (seed = 1; seed <= 20; ++seed) EXPECT_TRUE(admit(oracle).inert.empty());
}

TEST_F(AdmissionTest, AnInputWithoutInfluenceIsNamed) {
  ScriptedOracle oracle(testing::workload_function);
  const AdmissionReport report = admit(oracle, true);
  EXPECT_EQ(report.inert, std::vector<std::string>{"spare"});
}

TEST_F(AdmissionTest, AnIdentityIsPassedByTheInput) {
  ScriptedOracle oracle([](double x) { return x; });
  EXPECT_FALSE(admit(oracle).passing.empty());
}

// The declared run errs far more than its neighbours in float64 allow.
TEST_F(AdmissionTest, AReferenceThatDoesNotAgreeWithItself) {
  int runs = 0;
  ScriptedOracle oracle([&runs](double x) { return runs % 4 == 1 ? x + 1 : x + 5; });
  oracle.on_run = [&runs] { ++runs; };
  const AdmissionReport report = admit(oracle);
  EXPECT_TRUE(!report.failure.empty() || !report.passing.empty());
}

TEST_F(AdmissionTest, AnOracleThatDiesHereFindsNothingInert) {
  ScriptedOracle oracle(testing::workload_function);
  after_learning = [&oracle] { oracle.die(); };
  EXPECT_TRUE(admit(oracle).inert.empty());
}

TEST_F(AdmissionTest, AnOutputWithoutElements) {
  FakeWorkload workload;
  task::Signature signature = workload.signature;
  signature.outputs[0].shape = {0};
  LearnedInstances learned;
  learned.instances.resize(2);
  const AdmissionReport report =
      run_admission_battery({signature, workload.checker, learned, workload.reference,
                             workload.inputs, *workload.sets[0], workload.hard, workload.seeds})
          .value();
  EXPECT_EQ(report.failure, "output y has no elements");
}

}  // namespace
}  // namespace kw::gym
