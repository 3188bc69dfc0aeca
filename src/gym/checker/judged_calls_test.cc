// Calls of a candidate and its baseline, one by one: what is filled before a call, and whose fault
// it is when a call goes wrong.
#include "gym/checker/judged_calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/checker/testing/fake_judgement.h"

namespace kw::gym {
namespace {

using std::chrono::milliseconds;
using testing::compute_workload;
using testing::ExecutorScript;
using testing::FakeJudgement;
using testing::FakeWorkload;
using testing::ScriptedCall;

class JudgedCallsTest : public ::testing::Test {
 protected:
  using Spoil = std::function<void(const ScriptedCall&)>;

  // Opens a workload whose baseline counts its calls.
  FakeWorkload& open(const SessionOptions& options = {}, bool keeps_audits = true) {
    judged_.reset();
    workload_ = std::make_unique<FakeWorkload>(options);
    workload_->learn_from_oracle(keeps_audits);
    ExecutorScript baseline;
    baseline.wall = milliseconds(2);
    baseline.on_launch = [this](int, LaunchResult& result) {
      ++baseline_calls_;
      if (on_baseline_) on_baseline_(result);
    };
    workload_->start_baseline(baseline);
    baseline_calls_ = 0;
    return *workload_;
  }
  FakeJudgement& begin(ExecutorScript script) {
    if (workload_ == nullptr) open();
    judged_.reset();
    judged_ = std::make_unique<FakeJudgement>(*workload_, std::move(script));
    return *judged_;
  }
  // Right, and then what the test does besides.
  static ExecutorScript after_right_results(const Spoil& spoil = [](const ScriptedCall&) {}) {
    ExecutorScript script;
    script.kernel = [spoil](const ScriptedCall& call) {
      compute_workload(call);
      spoil(call);
    };
    return script;
  }
  static SessionOptions with_mechanism_off(const std::string& name, bool timing = true) {
    SessionOptions options;
    options.mechanisms = Mechanisms::without({name}).value();
    options.timing = timing;
    return options;
  }
  static std::vector<float> values(const FakeWorkload& workload, std::uint32_t set,
                                   std::size_t tensor) {
    const auto bytes = workload.sets[set]->view(tensor).value();
    const auto* first = reinterpret_cast<const float*>(bytes.data());
    return {first, first + bytes.size() / sizeof(float)};
  }

  std::unique_ptr<FakeWorkload> workload_;
  std::unique_ptr<FakeJudgement> judged_;  // of the workload
  std::function<void(LaunchResult&)> on_baseline_;
  int baseline_calls_ = 0;
};

TEST_F(JudgedCallsTest, ARightCallOfBothSidesIsNoFault) {
  FakeJudgement& judged = begin(after_right_results());
  ASSERT_TRUE(judged.checked_call());
  EXPECT_EQ(judged.message(), "");
  EXPECT_EQ(baseline_calls_, 1);
  EXPECT_EQ(judged.calls.candidate_totals().wall, std::chrono::microseconds(1010));
  EXPECT_EQ(judged.calls.baseline_totals().wall, std::chrono::microseconds(2010));
  EXPECT_TRUE(judged.calls.outputs().benchmark_rules().has_compared());
  EXPECT_EQ(judged.calls.outputs().errors().at(0).checked_calls, 1);
}

TEST_F(JudgedCallsTest, AFaultOfTheCandidateIsItsOutcomeAndSparesTheBaseline) {
  ExecutorScript script = after_right_results();
  script.on_launch = [](int, LaunchResult& result) { result.end = LaunchEnd::kExited; };
  script.end.exit.emplace();
  script.end.exit->signalled = true;
  script.end.exit->code = 11;
  FakeJudgement& judged = begin(script);
  ASSERT_TRUE(judged.checked_call());
  EXPECT_EQ(judged.outcome(), task::Outcome::kRuntimeError);
  EXPECT_EQ(judged.message(), "a segmentation fault during a call");
  EXPECT_EQ(baseline_calls_, 0);
  EXPECT_FALSE(judged.calls.outputs().benchmark_rules().has_compared());
}

TEST_F(JudgedCallsTest, WhateverTheBaselineDoesIsAnErrorAndConvictsNobody) {
  on_baseline_ = [](LaunchResult& result) { result.end = LaunchEnd::kExited; };
  FakeJudgement& judged = begin(after_right_results());
  Status done = judged.checked_call();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(done.error().message(), "the baseline failed: it failed during a call");
  on_baseline_ = [](LaunchResult& result) { result.cpu_time = 3 * result.wall; };
  done = judged.checked_call();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), ::testing::HasSubstr("ms of core time, more than a call of"));
  // It is not watched while it should stand still: only the candidate may gain by that.
  on_baseline_ = [](LaunchResult& result) { result.was_moving = true; };
  EXPECT_TRUE(judged.checked_call());
  EXPECT_FALSE(judged.fault.found()) << judged.message();
}

TEST_F(JudgedCallsTest, AReturnedResultOfAnotherShapeIsItsFaultOrAnErrorOfTheBaseline) {
  ExecutorScript returns = after_right_results();
  returns.style = Style::kReturning;
  returns.report = [](std::uint32_t, std::uint32_t) {
    OutputReport report{};
    report.dtype = static_cast<std::uint32_t>(tensor::DType::kFloat32);
    report.rank = 1;
    report.shape[0] = testing::kWorkloadElements - 1;
    report.stride[0] = 1;
    return report;
  };
  FakeWorkload& workload = open();
  for (OutputMemory* memory : {&workload.memory.candidate(), &workload.memory.baseline()})
    ASSERT_TRUE(memory->ensure_arena(workload.allocator, workload.signature));
  FakeJudgement& judged = begin(returns);
  ASSERT_TRUE(judged.checked_call());
  EXPECT_EQ(judged.outcome(), task::Outcome::kWrongShape);
  EXPECT_EQ(baseline_calls_, 0);
  workload.start_baseline(returns);
  const Status done = begin(after_right_results()).checked_call();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(done.error().message(), ::testing::StartsWith("the baseline failed: "));
  EXPECT_FALSE(judged_->fault.found()) << judged_->message();
}

TEST_F(JudgedCallsTest, AChangedInputIsAViolationBeforeAnyOutputIsLookedAt) {
  const ExecutorScript script = after_right_results([](const ScriptedCall& call) {
    call.x()[3] += 1;
    call.y()[9] += 1;  // wrong as well: the violation says more
  });
  FakeJudgement& judged = begin(script);
  ASSERT_TRUE(judged.checked_call());
  EXPECT_EQ(judged.violation(), "input_write");
  EXPECT_FALSE(judged.calls.outputs().benchmark_rules().has_compared());
  open(with_mechanism_off("rehash"));
  ASSERT_TRUE(begin(script).checked_call());
  EXPECT_EQ(judged_->outcome(), task::Outcome::kWrongValue);
}

TEST_F(JudgedCallsTest, AWriteBesideTheOutputsIsAViolation) {
  const ExecutorScript script = after_right_results([](const ScriptedCall& call) {
    call.outputs.bytes()[call.outputs.layout().offset(0) - 1] ^= std::byte{1};
  });
  ASSERT_TRUE(begin(script).checked_call());
  EXPECT_EQ(judged_->violation(), "out_of_bounds");
  open(with_mechanism_off("canaries"));
  ASSERT_TRUE(begin(script).checked_call());
  EXPECT_FALSE(judged_->fault.found()) << judged_->message();
}

// The calls saw these values in the element behind an input's last one.
std::set<float> seen_behind_x(FakeJudgement& judged, float& behind) {
  std::set<float> out;
  for (int call = 0; call < 20; ++call) {
    EXPECT_TRUE(judged.checked_call());
    out.insert(behind);
  }
  return out;
}

TEST_F(JudgedCallsTest, SecretBytesLieBehindInputs) {
  float behind = 0;
  const ExecutorScript script = after_right_results([&](const ScriptedCall& call) {
    std::memcpy(&behind, call.x().data() + call.x().size(), sizeof behind);
    if (std::isnan(behind)) behind = std::numeric_limits<float>::infinity();
  });
  SessionOptions still;
  still.mechanisms.moving_addresses = false;
  open(still);
  EXPECT_GE(seen_behind_x(begin(script), behind).size(), 15U);
  still.mechanisms.edges = false;
  open(still);
  EXPECT_EQ(seen_behind_x(begin(script), behind), std::set<float>{0});
}

TEST_F(JudgedCallsTest, ACallHasItsLimitAndALaunchThatOfAllItsCalls) {
  FakeWorkload& workload = open();
  ExecutorScript script = after_right_results();
  script.wall = milliseconds(1900);
  FakeJudgement& judged = begin(script);
  EXPECT_EQ(judged.calls.timeout(), std::chrono::seconds(2));
  for (const std::uint32_t set : {0U, 1U}) ASSERT_TRUE(judged.calls.fill(set, false));
  ASSERT_TRUE(judged.calls.launch(*judged.candidate, std::array{0U, 1U}));
  EXPECT_FALSE(judged.fault.found()) << judged.message();
  workload.options.timeout_seconds = 1.5;
  EXPECT_EQ(judged.calls.timeout(), milliseconds(1500));
  ASSERT_TRUE(judged.calls.launch(*judged.candidate, std::array{0U}));
  EXPECT_EQ(judged.outcome(), task::Outcome::kTimeout);
}

// Core time of one call, beyond what so many threads can use of the cores.
TEST_F(JudgedCallsTest, TheCoreTimeOfAllThreadsIsTheLimit) {
  SessionOptions options;
  options.threads = 2;
  for (const bool is_beyond : {false, true}) {
    open(options);
    ExecutorScript script = after_right_results();
    script.on_launch = [is_beyond](int, LaunchResult& result) {
      result.cpu_time = 2 * result.wall + result.wall / 10 + milliseconds(2) +
                        std::chrono::nanoseconds(is_beyond ? 1 : 0);
    };
    ASSERT_TRUE(begin(script).checked_call());
    EXPECT_EQ(judged_->violation(), is_beyond ? "background_work" : "");
  }
}

TEST_F(JudgedCallsTest, RestlessLaunchesConvictOnlyIfTheyGoOnWhileTheyAreWatched) {
  struct Case {
    int quiet_every;  // each so-manieth launch is quiet; 0: none
    bool is_late;     // the kernel counts late: nothing is left where it has time to count
    int watched_after, convicted_after;  // launches; 0: never
  };
  for (const Case& c :
       {Case{0, false, 1, 7}, Case{3, false, 1, 10}, Case{2, false, 1, 0}, Case{0, true, 1, 0}}) {
    open();
    int launches = 0, watched_after = 0;
    ExecutorScript script = after_right_results();
    script.on_launch = [&](int launch, LaunchResult& result) {
      launches = launch + 1;
      const bool is_quiet = c.quiet_every > 0 && launches % c.quiet_every == 0;
      if (!is_quiet && !(c.is_late && watched_after > 0)) result.ran_at_rest = milliseconds(1);
    };
    script.on_watch = [&] { watched_after = launches; };
    FakeJudgement& judged = begin(script);
    while (!judged.fault.found() && launches < 60) ASSERT_TRUE(judged.checked_call());
    EXPECT_EQ(watched_after, c.watched_after);
    EXPECT_EQ(judged.fault.found() ? launches : 0, c.convicted_after);
    EXPECT_EQ(judged.violation(), c.convicted_after > 0 ? "background_work" : "");
  }
}

TEST_F(JudgedCallsTest, OneSightOfItMovingConvictsNobody) {
  for (const int sights : {1, 2}) {
    open();
    ExecutorScript script = after_right_results();
    script.on_launch = [sights](int launch, LaunchResult& result) {
      result.was_moving = launch == 2 || (launch == 7 && sights == 2);
    };
    FakeJudgement& judged = begin(script);
    for (int launch = 0; launch < 20 && !judged.fault.found(); ++launch)
      ASSERT_TRUE(judged.checked_call());
    EXPECT_EQ(judged.violation(), sights == 2 ? "background_work" : "");
  }
}

TEST_F(JudgedCallsTest, AnAuditNeedsNoRunWhileInstancesAreKnown) {
  FakeWorkload& workload = open();
  FakeJudgement& judged = begin(after_right_results());
  const std::size_t runs = workload.oracle.runs().size();
  for (int known = 0; known < 3; ++known) ASSERT_TRUE(judged.checked_call(0, true));
  EXPECT_EQ(workload.oracle.runs().size(), runs);
  ASSERT_TRUE(judged.checked_call(0, true));
  EXPECT_GT(workload.oracle.runs().size(), runs);
  EXPECT_EQ(judged.calls.outputs().audits(), 4);
  // The next candidate sees the known ones again.
  const std::size_t more = workload.oracle.runs().size();
  ASSERT_TRUE(begin(after_right_results()).checked_call(0, true));
  EXPECT_EQ(workload.oracle.runs().size(), more);
}

TEST_F(JudgedCallsTest, AnOracleThatDiedAfterLearningIsAnErrorOnceItIsNeeded) {
  FakeWorkload& workload = open({}, false);
  workload.oracle.die();
  FakeJudgement& judged = begin(after_right_results());
  ASSERT_TRUE(judged.checked_call());
  const Status audited = judged.checked_call(0, true);
  ASSERT_FALSE(audited);
  EXPECT_EQ(audited.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(audited.error().message(), "the reference failed: the reference's process ended");
  EXPECT_FALSE(judged.fault.found());
}

TEST_F(JudgedCallsTest, AnAuditIsOfTheSetThatWasFilledForIt) {
  FakeJudgement& judged = begin(after_right_results());
  judged.call(1);
  judged.call(0);
  ASSERT_TRUE(judged.calls.fill(0, true));
  const std::array first = {0U}, second = {1U};
  for (Side* side : {judged.candidate.get(), workload_->baseline.get()}) {
    ASSERT_TRUE(judged.calls.launch(*side, first));
    ASSERT_TRUE(judged.calls.take_snapshot(*side, first));
  }
  ASSERT_TRUE(judged.calls.check(second, true));
  EXPECT_EQ(judged.calls.outputs().audits(), 0);
  ASSERT_TRUE(judged.calls.check(first, true));
  EXPECT_EQ(judged.calls.outputs().audits(), 1);
  // Filled again for an ordinary call, its audit is not due any more.
  judged.call(0);
  ASSERT_TRUE(judged.calls.check(first, true));
  EXPECT_EQ(judged.calls.outputs().audits(), 1);
}

TEST_F(JudgedCallsTest, WithoutTimingNothingIsLeftUnchecked) {
  const ExecutorScript wrong =
      after_right_results([](const ScriptedCall& call) { call.y()[0] += 1; });
  open(with_mechanism_off("check_timed"));
  ASSERT_TRUE(begin(wrong).checked_call(0, false, false));
  EXPECT_FALSE(judged_->fault.found());
  ASSERT_TRUE(judged_->checked_call(0, false, true));
  EXPECT_EQ(judged_->outcome(), task::Outcome::kWrongValue);
  open(with_mechanism_off("check_timed", false));
  ASSERT_TRUE(begin(wrong).checked_call(0, false, false));
  EXPECT_EQ(judged_->outcome(), task::Outcome::kWrongValue);
  open(with_mechanism_off("audit"));
  ASSERT_TRUE(begin(after_right_results()).checked_call(0, true));
  EXPECT_EQ(judged_->calls.outputs().audits(), 0);
  open(with_mechanism_off("audit", false));
  ASSERT_TRUE(begin(after_right_results()).checked_call(0, true));
  EXPECT_EQ(judged_->calls.outputs().audits(), 1);
}

TEST_F(JudgedCallsTest, InputsAreFreshAndMoveUnlessThatIsSwitchedOff) {
  for (const char* off : {"", "fresh_inputs", "moving_addresses"}) {
    const std::string name = off;
    FakeWorkload& workload = open(name.empty() ? SessionOptions() : with_mechanism_off(name));
    FakeJudgement& judged = begin(after_right_results());
    std::vector<std::vector<float>> seen;
    std::set<std::size_t> places;
    for (int call = 0; call < 20; ++call) {
      ASSERT_TRUE(judged.calls.fill(0, false));
      seen.push_back(values(workload, 0, 0));
      places.insert(workload.sets[0]->layout().offset(0));
    }
    EXPECT_EQ(seen[0] == seen[1], name == "fresh_inputs") << off;
    EXPECT_EQ(places.size() == 1, name == "moving_addresses") << off;
  }
}

TEST_F(JudgedCallsTest, InputsThatCannotBeMadeAreAnErrorWithTheReferencesWords) {
  FakeWorkload& workload = open();
  workload.inputs = InputSource::of_oracle(workload.signature, {}, workload.oracle).value();
  FakeJudgement& judged = begin(after_right_results());
  ASSERT_TRUE(judged.calls.fill(0, false));
  workload.oracle.die();
  const Status filled = judged.calls.fill(0, false);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(filled.error().message(), "the inputs cannot be made: the reference's process ended");
}

TEST_F(JudgedCallsTest, TheTimeOfFillingIsAddedUp) {
  FakeWorkload& workload = open();
  FakeJudgement& judged = begin(after_right_results());
  workload.clock.step = milliseconds(3);
  ASSERT_TRUE(judged.calls.fill(0, false));
  ASSERT_TRUE(judged.calls.fill(1, false));
  EXPECT_EQ(judged.calls.fill_ms(), 6);
}

// p [16, 16], u [256] -> y [16], drawn by p.
TEST_F(JudgedCallsTest, EverySecondCallHasTheProbabilitiesOfTheOneBefore) {
  task::Signature signature = testing::workload_signature();
  signature.inputs[0].shape = {16, 16};
  signature.inputs.push_back(testing::float_tensor("u", task::Role::kInput));
  signature.outputs[0].shape = {16};
  signature.outputs[0].dtype = tensor::DType::kInt32;
  task::OutputPolicy sampled;
  sampled.check = task::CheckKind::kSampling;
  sampled.of = "x";
  FakeWorkload workload({}, signature, {{"y", sampled}},
                        {{"x", task::Distribution::kProbabilities}});
  workload.start_baseline();
  FakeJudgement judged(workload, after_right_results());
  std::vector<std::vector<float>> probabilities, others;
  for (std::uint32_t call = 0; call < 4; ++call) {
    ASSERT_TRUE(judged.calls.fill(call, false));
    probabilities.push_back(values(workload, call, 0));
    others.push_back(values(workload, call, 1));
  }
  EXPECT_EQ(probabilities[0], probabilities[1]);
  EXPECT_EQ(probabilities[2], probabilities[3]);
  EXPECT_NE(probabilities[1], probabilities[2]);
  EXPECT_NE(others[0], others[1]);
}

}  // namespace
}  // namespace kw::gym
