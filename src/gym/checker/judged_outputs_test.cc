// Decisions about single outputs: who is asked when a call differs from the baseline's, and what
// the words of a verdict are.
#include "gym/checker/judged_outputs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "gym/checker/testing/fake_judgement.h"

namespace kw::gym {
namespace {

using task::Outcome;
using testing::add_to_least_result;
using testing::compute_workload;
using testing::ExecutorScript;
using testing::FakeJudgement;
using testing::FakeWorkload;
using ::testing::HasSubstr;
using testing::ScriptedCall;

class JudgedOutputsTest : public ::testing::Test {
 protected:
  using Spoil = std::function<void(const ScriptedCall&)>;

  static ExecutorScript spoilt(const Spoil& spoil) {
    ExecutorScript script;
    script.kernel = [spoil](const ScriptedCall& call) {
      compute_workload(call);
      spoil(call);
    };
    return script;
  }
  void learn(const Spoil& spoils_baseline = [](const ScriptedCall&) {}) {
    workload_.learn_from_oracle();
    workload_.start_baseline(spoilt(spoils_baseline));
  }
  std::unique_ptr<FakeJudgement> judgement(const Spoil& spoil) {
    if (workload_.baseline == nullptr) learn();
    return std::make_unique<FakeJudgement>(workload_, spoilt(spoil));
  }
  // As a check does: the comparison is begun, and its answer judged.
  Status compare(FakeJudgement& judged, bool in_first_block, const FilledCases& hard) const {
    JudgedOutputs& outputs = judged.calls.outputs();
    KW_TRY(Later<ComparedReports> begun, outputs.compare_later(kSet0));
    return outputs.decide(kSet0, std::move(begun), in_first_block, hard);
  }
  // One call of a candidate, compared with the baseline's.
  std::unique_ptr<FakeJudgement> compared(const Spoil& spoil) {
    auto judged = judgement(spoil);
    judged->call(0);
    runs_before_ = workload_.oracle.runs().size();
    EXPECT_TRUE(compare(*judged, true, kOrdinary));
    return judged;
  }
  std::unique_ptr<FakeJudgement> audited(float error, float share_of_others = 0);
  float error_of(double share);
  std::size_t new_runs() const { return workload_.oracle.runs().size() - runs_before_; }

  const std::vector<std::uint32_t> kSet0 = {0};
  const FilledCases kOrdinary = FilledCases(FakeWorkload::kSets);
  FakeWorkload workload_;
  std::size_t runs_before_ = 0;
};

TEST_F(JudgedOutputsTest, EqualOutputsAskNobody) {
  const auto judged = compared([](const ScriptedCall&) {});
  EXPECT_EQ(judged->message(), "");
  EXPECT_EQ(new_runs(), 0U);
  EXPECT_EQ(judged->calls.outputs().audits(), 0);
  EXPECT_EQ(judged->calls.outputs().errors().at(0).checked_calls, 1);
}

TEST_F(JudgedOutputsTest, PoisonThatIsLeftIsAnElementThatWasNotWritten) {
  learn();
  ExecutorScript script;
  script.kernel = [](const ScriptedCall& call) {
    for (std::size_t i = 0; i < call.y().size() - 1; ++i) call.y()[i] = 3 * call.x()[i] + 1;
  };
  FakeJudgement judged(workload_, script);
  judged.call(0);
  ASSERT_TRUE(compare(judged, true, kOrdinary));
  EXPECT_EQ(judged.outcome(), Outcome::kWrongValue);
  EXPECT_THAT(judged.message(), HasSubstr("output y: "));
  EXPECT_THAT(judged.message(), HasSubstr("some elements were not written"));
}

TEST_F(JudgedOutputsTest, NanIsWrongAndBeyondEveryBudget) {
  const auto judged = compared(
      [](const ScriptedCall& call) { call.y()[5] = std::numeric_limits<float>::quiet_NaN(); });
  EXPECT_EQ(judged->outcome(), Outcome::kWrongValue);
  EXPECT_THAT(judged->message(), HasSubstr("there are NaNs"));
  EXPECT_EQ(judged->calls.outputs().errors().at(0).max_of_budget, INFINITY);
}

// A NaN of both sides is wrong too, which only an audit sees to.
TEST_F(JudgedOutputsTest, TheBaselinesNanIsNoExcuse) {
  const Spoil nan = [](const ScriptedCall& call) {
    call.y()[5] = std::numeric_limits<float>::quiet_NaN();
  };
  learn(nan);
  EXPECT_EQ(compared(nan)->outcome(), Outcome::kWrongValue);
}

TEST_F(JudgedOutputsTest, WhereTheBaselineErrsTheReferenceDecides) {
  learn([](const ScriptedCall& call) { call.y()[9] += 0.25F; });
  const auto judged = compared([](const ScriptedCall&) {});
  EXPECT_EQ(judged->message(), "");
  EXPECT_EQ(judged->calls.outputs().audits(), 1);
  EXPECT_GT(new_runs(), 0U);
  EXPECT_LE(judged->calls.outputs().errors().at(0).max_of_budget, 1);
}

TEST_F(JudgedOutputsTest, AnAuditFindsAnErrorThatTheBaselineShares) {
  const Spoil wrong = [](const ScriptedCall& call) { call.y()[9] += 0.25F; };
  learn(wrong);
  const auto judged = compared(wrong);
  EXPECT_FALSE(judged->fault.found()) << judged->message();
  ASSERT_TRUE(judged->calls.outputs().audit(0, nullptr));
  EXPECT_EQ(judged->outcome(), Outcome::kWrongValue);
}

TEST_F(JudgedOutputsTest, AKnownInstanceIsJudgedByWithoutARun) {
  const auto judged = judgement([](const ScriptedCall& call) { call.y()[9] += 0.25F; });
  judged->call(0);
  const std::size_t runs = workload_.oracle.runs().size();
  // The set has other inputs than the instance, so that nearly all elements are wrong.
  ASSERT_TRUE(judged->calls.outputs().audit(0, workload_.audits.use(0)));
  EXPECT_EQ(judged->calls.outputs().audits(), 1);
  EXPECT_EQ(judged->outcome(), Outcome::kWrongValue);
  EXPECT_EQ(workload_.oracle.runs().size(), runs);
}

// A GPU does not wait for the comparison: by the time of its answer the set holds something else.
TEST_F(JudgedOutputsTest, BesideAGpuAnAuditJudgesWhatTheCallLeft) {
  for (const float error : {0.0F, 0.25F}) {
    const Spoil wrong = [error](const ScriptedCall& call) { call.y()[9] += error; };
    FakeWorkload workload;
    workload.learn_from_oracle();
    workload.start_baseline(spoilt(wrong));
    ExecutorScript script = spoilt(wrong);
    script.device_clock = true;
    FakeJudgement judged(workload, script);
    ASSERT_TRUE(judged.checked_call(0, true, false));
    EXPECT_EQ(judged.calls.outputs().audits(), 1);
    EXPECT_FALSE(judged.fault.found()) << judged.message();
    judged.call(0);
    ASSERT_TRUE(judged.calls.outputs().end_audit());
    EXPECT_EQ(judged.outcome(), error > 0 ? Outcome::kWrongValue : Outcome::kPassed);
    ASSERT_TRUE(judged.calls.outputs().end_audit());
  }
}

// Beyond the budget of one perturbed run, an element may be within those of several.
TEST_F(JudgedOutputsTest, AnErrorNearItsBudgetIsJudgedOnceMoreAndAFarOneIsNot) {
  const auto near = compared([](const ScriptedCall& call) { call.y()[5] += 1e-4F; });
  EXPECT_EQ(near->outcome(), Outcome::kWrongValue);
  const std::size_t near_runs = new_runs();
  const auto far = compared([](const ScriptedCall& call) { call.y()[5] += 1e4F; });
  EXPECT_EQ(far->outcome(), Outcome::kWrongValue);
  EXPECT_GE(near_runs, new_runs() + kPerturbedRunsToConvict.count);
}

// Roundings that agree say nothing about how far the next is off.
TEST_F(JudgedOutputsTest, WhereTheReferenceRoundsAFarErrorIsJudgedOnceMoreToo) {
  workload_.oracle.refuse(Precision::kFloat64);
  const auto far = compared([](const ScriptedCall& call) { call.y()[5] += 1e4F; });
  EXPECT_EQ(far->outcome(), Outcome::kWrongValue);
  EXPECT_GE(new_runs(), static_cast<std::size_t>(kPerturbedRunsToConvict.count));
}

// One call that an audit has judged: of this error in one element, and a share of it in all others.
// Inputs and perturbed runs are the same each time.
std::unique_ptr<FakeJudgement> JudgedOutputsTest::audited(float error, float share_of_others) {
  if (workload_.baseline == nullptr) learn();
  const SessionSeeds::Known known(workload_.seeds, 1);
  auto judged = judgement([error, share_of_others](const ScriptedCall& call) {
    add_to_least_result(call, (1 - share_of_others) * error);
    for (float& y : call.y()) y += share_of_others * error;
  });
  judged->call(0);
  EXPECT_TRUE(judged->calls.outputs().audit(0, nullptr));
  return judged;
}

// The least error that is at least this share of its budget.
float JudgedOutputsTest::error_of(double share) {
  for (float error = 1e-6F; error < 1e-3F; error *= 1.01F)
    if (audited(error)->calls.outputs().errors().at(0).max_of_budget >= share) return error;
  ADD_FAILURE() << "no error of " << share << " budgets";
  return 0;
}

TEST_F(JudgedOutputsTest, AnErrorNearItsBudgetDecidesNothing) {
  for (const double share : {0.92, 1.01}) {
    const auto judged = audited(error_of(share));
    EXPECT_FALSE(judged->fault.found()) << judged->message();
    const std::optional<NearBudget> near = judged->calls.outputs().take_near_budget();
    ASSERT_TRUE(near);
    EXPECT_NEAR(near->largest, share, 0.05);
    EXPECT_FALSE(near->hard);
    EXPECT_EQ(near->mismatch.has_value(), share > 1);
    if (near->mismatch) {
      EXPECT_THAT(near->mismatch->message, HasSubstr("output y: "));
    }
    EXPECT_FALSE(judged->calls.outputs().take_near_budget());
  }
}

TEST_F(JudgedOutputsTest, AnErrorFurtherBeyondOrOfAWholeTileConvictsAtOnce) {
  const float near = error_of(0.92);
  const auto far = audited(4.8F * near);
  EXPECT_EQ(far->outcome(), Outcome::kWrongValue);
  EXPECT_FALSE(far->calls.outputs().take_near_budget());
  const auto tile = audited(near, 0.7F);
  EXPECT_EQ(tile->outcome(), Outcome::kWrongValue);
  EXPECT_LE(tile->calls.outputs().errors().at(0).max_of_budget, task::Borderline::kTo);
}

TEST_F(JudgedOutputsTest, NobodyIsConvictedWithoutTheReference) {
  const auto judged = judgement([](const ScriptedCall& call) { call.y()[5] += 1e4F; });
  judged->call(0);
  workload_.oracle.die();
  const Status done = compare(*judged, true, kOrdinary);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(done.error().message(), "the reference failed: the reference's process ended");
  EXPECT_FALSE(judged->fault.found());
}

TEST_F(JudgedOutputsTest, AfterAFaultNothingIsCompared) {
  const auto judged = judgement([](const ScriptedCall& call) { call.y()[5] += 1e4F; });
  judged->call(0);
  judged->fault.blame({Outcome::kViolation, "input_write", "an input changed during a call"});
  ASSERT_TRUE(compare(*judged, true, kOrdinary));
  EXPECT_EQ(judged->violation(), "input_write");
  EXPECT_EQ(judged->calls.outputs().errors().at(0).checked_calls, 0);
}

// Their harnesses compare the first calls; the later ones are none of theirs.
TEST_F(JudgedOutputsTest, BenchmarksRulesLookAtTheFirstCallsAndAtOneInAnyCase) {
  const auto status = [&](bool is_first_wrong, bool second_is_in_first_block) {
    const auto judged = judgement([is_first_wrong](const ScriptedCall& call) {
      if ((call.launch == 0) == is_first_wrong) call.y()[5] += 1;
    });
    WorkloadReport report;
    judged->call(0);
    EXPECT_TRUE(compare(*judged, false, kOrdinary));
    judged->fault = {};
    judged->call(0);
    EXPECT_TRUE(compare(*judged, second_is_in_first_block, kOrdinary));
    judged->calls.outputs().benchmark_rules().add_to(report, std::nullopt);
    return report.flashinfer.status;
  };
  EXPECT_EQ(status(true, false), "INCORRECT_NUMERICAL");
  EXPECT_EQ(status(false, false), "PASSED");
  EXPECT_EQ(status(false, true), "INCORRECT_NUMERICAL");
}

TEST_F(JudgedOutputsTest, HardInputsConvictUnlessTheyAreLeftOutOrHaveChanged) {
  learn();
  workload_.hard =
      HardCases(workload_.signature, workload_.inputs, workload_.checker, workload_.seeds);
  const auto outcome = [&](const std::function<void(HardCase&)>& change) {
    const auto judged = judgement([](const ScriptedCall& call) { call.y()[5] += 1e6F; });
    HardCase& hard = workload_.hard.at(0);
    FilledCases filled = kOrdinary;
    filled[0] = FilledCase{0, hard.version};
    judged->call(0, 0U);
    change(hard);
    EXPECT_TRUE(compare(*judged, true, filled));
    EXPECT_EQ(judged->calls.outputs().hard_calls().at(0), 1);
    EXPECT_FALSE(judged->calls.outputs().benchmark_rules().has_compared());
    return judged->message();
  };
  EXPECT_THAT(outcome([](HardCase&) {}), HasSubstr("(hard inputs: "));
  EXPECT_EQ(outcome([](HardCase& hard) { ++hard.version; }), "");
  EXPECT_EQ(outcome([](HardCase& hard) { hard.left_out = "other operators"; }), "");
}

// x [16, 16] of probabilities -> y [16], one draw a row.
class JudgedSamples : public ::testing::Test {
 protected:
  using Draw = std::function<std::int32_t(std::span<const float> row)>;

  static task::Signature signature() {
    task::Signature out = testing::workload_signature();
    out.inputs[0].shape = {16, 16};
    out.outputs[0].shape = {16};
    out.outputs[0].dtype = tensor::DType::kInt32;
    return out;
  }
  static std::map<std::string, task::OutputPolicy> policies() {
    task::OutputPolicy sampled;
    sampled.check = task::CheckKind::kSampling;
    sampled.of = "x";
    return {{"y", sampled}};
  }
  // The words of a verdict on forty calls that draw so.
  std::string words_on(const Draw& draw) {
    ExecutorScript script;
    script.kernel = [draw](const ScriptedCall& call) {
      const auto bytes = call.outputs.tensor(0);
      auto* indices = reinterpret_cast<std::int32_t*>(bytes.data());
      for (std::size_t row = 0; row < 16; ++row)
        indices[row] = draw(call.x().subspan(16 * row, 16));
    };
    workload_.start_baseline(script);
    FakeJudgement judged(workload_, script);
    for (int call = 0; call < 40; ++call) {
      judged.call(0);
      EXPECT_TRUE(judged.calls.outputs().add_samples(std::vector<std::uint32_t>{0}));
    }
    judged.calls.outputs().judge_samples();
    if (judged.fault.found()) {
      EXPECT_EQ(judged.outcome(), Outcome::kWrongValue);
      EXPECT_GT(judged.calls.outputs().errors().at(0).max_of_budget, 1);
    }
    return judged.message();
  }
  static std::int32_t drawn(std::span<const float> row, double share) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      share -= static_cast<double>(row[i]);
      if (share < 0) return static_cast<std::int32_t>(i);
    }
    return 15;
  }

  FakeWorkload workload_{{}, signature(), policies(), {{"x", task::Distribution::kProbabilities}}};
};

TEST_F(JudgedSamples, DrawsAreJudgedTogether) {
  Rng rng(11);
  EXPECT_EQ(words_on([&](std::span<const float> row) { return drawn(row, rng.uniform()); }), "");
  EXPECT_EQ(words_on([](std::span<const float>) { return 16; }),
            "output y: it drew indices of probability 0 or out of range");
  // By a number that depends on the probabilities alone, as well spread as an honest one.
  EXPECT_EQ(words_on([](std::span<const float> row) {
              return drawn(row, std::fmod(1e4 * static_cast<double>(row[0]), 1.0));
            }),
            "output y: its draws repeat where only the probabilities do");
  EXPECT_EQ(
      words_on([&](std::span<const float>) { return static_cast<std::int32_t>(rng.below(16)); }),
      "output y: its draws do not follow the given probabilities");
}

}  // namespace
}  // namespace kw::gym
