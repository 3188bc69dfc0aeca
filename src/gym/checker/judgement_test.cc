// Judgements without a process: what is decided when a candidate, the baseline or the oracle does
// this or that.
#include "gym/checker/judgement.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using std::chrono::milliseconds;
using testing::compute_workload;
using testing::ExecutorScript;
using testing::FakeWorkload;
using testing::ScriptedCall;

ExecutorScript right() {
  ExecutorScript script;
  script.kernel = compute_workload;
  return script;
}

// Computes as `kernel` says after the right results.
template <typename Kernel>
ExecutorScript after_right(const Kernel& kernel) {
  ExecutorScript script;
  script.kernel = [kernel](const ScriptedCall& call) {
    compute_workload(call);
    kernel(call);
  };
  return script;
}

SessionOptions without(const std::string& mechanism) {
  SessionOptions options;
  options.mechanisms = Mechanisms::without({mechanism}).value();
  return options;
}

SessionOptions untimed() {
  SessionOptions options;
  options.timing = false;
  return options;
}

Result<Json> judge(FakeWorkload& workload, ExecutorScript script) {
  if (workload.baseline == nullptr) {
    workload.learn_from_oracle();
    workload.start_baseline();
  }
  JudgingContext context = workload.context();
  auto turn = TurnScope::begin(workload.turn);
  KW_TRY(WorkloadReport report, Judgement(context, workload.candidate(std::move(script))).run());
  return to_json(report);
}

// outcome, and the class of a violation.
std::string outcome_of(const Result<Json>& report) {
  if (!report) return "error: " + report.error().message();
  std::string violation = report->at("violation");
  return report->at("outcome").get<std::string>() + (violation.empty() ? "" : " " + violation);
}

std::string outcome(ExecutorScript script, SessionOptions options = {}) {
  FakeWorkload workload(options);
  return outcome_of(judge(workload, std::move(script)));
}

std::string message_of(const Result<Json>& report) {
  return report->at("diagnostics").at(0).at("message");
}

TEST(Judgement, MeasuresARightCandidate) {
  FakeWorkload workload;
  const Result<Json> report = judge(workload, right());
  ASSERT_EQ(outcome_of(report), "passed");
  const auto candidate = report->at("candidate_ns").get<std::vector<double>>();
  const auto reference = report->at("reference_ns").get<std::vector<double>>();
  ASSERT_GE(candidate.size(), 8U);
  ASSERT_EQ(candidate.size(), reference.size());
  // The time of an empty launch is subtracted.
  EXPECT_TRUE(std::ranges::all_of(candidate, [](double ns) { return ns == 1e6; }));
  EXPECT_TRUE(std::ranges::all_of(reference, [](double ns) { return ns == 2e6; }));
  EXPECT_EQ(report->at("null_launch_ns"), 10000);
  EXPECT_GE(report->at("audits"), 1);
  EXPECT_EQ(report->at("disturbed_samples"), 0U);
  EXPECT_EQ(workload.lease.taken, workload.lease.given_back);
}

TEST(Judgement, EveryLaunchIsCompared) {
  for (int wrong : {0, 1, 7}) {
    ExecutorScript script = after_right([wrong](const ScriptedCall& call) {
      if (call.launch == wrong) call.y()[17] += 0.5F;
    });
    FakeWorkload workload;
    const Result<Json> report = judge(workload, script);
    EXPECT_EQ(outcome_of(report), "wrong_value") << wrong;
    EXPECT_EQ(report->at("candidate_ns").size(), 0U) << wrong;  // times of a pass alone
    EXPECT_EQ(outcome(script, untimed()), wrong < 3 ? "wrong_value" : "passed") << wrong;
  }
}

TEST(Judgement, HalfAnOutputIsWrong) {
  ExecutorScript script;
  script.kernel = [](const ScriptedCall& call) {
    for (std::size_t i = 0; i < call.y().size() / 2; ++i) call.y()[i] = 3 * call.x()[i] + 1;
  };
  FakeWorkload workload(untimed());
  const Result<Json> report = judge(workload, script);
  ASSERT_EQ(outcome_of(report), "wrong_value");
  EXPECT_NE(message_of(report).find("not written"), std::string::npos) << message_of(report);
  // Memory of the call before holds right values of other inputs, so that nothing passes without
  // poison either.
  EXPECT_EQ(outcome(script, without("poison")), "wrong_value");
}

TEST(Judgement, StaleResultsAreWrong) {
  auto first = std::make_shared<std::vector<float>>();
  ExecutorScript script = after_right([first](const ScriptedCall& call) {
    if (first->empty()) first->assign(call.y().begin(), call.y().end());
    std::ranges::copy(*first, call.y().begin());
  });
  EXPECT_EQ(outcome(script), "wrong_value");
  first->clear();
  SessionOptions options = without("fresh_inputs");
  options.mechanisms.audit = false;
  EXPECT_EQ(outcome(script, options), "passed");  // the mechanism is what stops it
}

TEST(Judgement, AWrittenInputIsAViolation) {
  ExecutorScript script = after_right([](const ScriptedCall& call) { call.x()[3] = 7; });
  // The baseline sees the changed input as well: only the hash tells.
  EXPECT_EQ(outcome(script), "violation input_write");
}

TEST(Judgement, ATouchedCanaryIsAViolation) {
  ExecutorScript before = after_right([](const ScriptedCall& call) {
    call.outputs.bytes()[call.outputs.layout().offset(0) - 1] ^= std::byte{1};
  });
  ExecutorScript behind = after_right([](const ScriptedCall& call) {
    const Layout& layout = call.outputs.layout();
    call.outputs.bytes()[layout.offset(0) + layout.bytes(0)] ^= std::byte{1};
  });
  EXPECT_EQ(outcome(before), "violation out_of_bounds");
  EXPECT_EQ(outcome(behind), "violation out_of_bounds");
  EXPECT_EQ(outcome(behind, without("canaries")), "passed");
}

TEST(Judgement, AWriteAfterDoneDoesNotCount) {
  for (bool snapshot : {true, false}) {
    FakeWorkload workload(snapshot ? SessionOptions{} : without("snapshot"));
    ExecutorScript script;
    script.is_still = false;  // a machine that cannot freeze it
    script.kernel = [&workload](const ScriptedCall& call) {
      workload.late.pending.emplace_back([call] { compute_workload(call); });
    };
    EXPECT_EQ(outcome_of(judge(workload, script)), snapshot ? "wrong_value" : "passed");
  }
}

TEST(Judgement, TheEndOfTheCandidateIsItsVerdict) {
  struct End {
    LaunchEnd end;
    ExecutorEnd left;
    const char* outcome;
  };
  sandbox::Exit memory;
  memory.out_of_memory = true;
  sandbox::Exit fault;
  fault.signalled = true;
  fault.code = 11;
  ExecutorEnd input_fault{.exit = fault, .fault_on_input = true};
  const End ends[] = {
      {LaunchEnd::kTimeout, {}, "timeout"},
      {LaunchEnd::kProtocol, {}, "violation protocol"},
      {LaunchEnd::kExited, {.exit = memory}, "memory_limit"},
      {LaunchEnd::kExited, {.exit = fault}, "runtime_error"},
      {LaunchEnd::kExited, input_fault, "violation input_write"},
      {LaunchEnd::kFailed, {.failure = Failure::kOutputCount}, "wrong_shape"},
      {LaunchEnd::kFailed, {.failure = Failure::kUnsupported}, "runtime_error"},
  };
  for (const End& end : ends) {
    for (int at : {0, 5}) {
      ExecutorScript script = right();
      script.end = end.left;
      script.on_launch = [&](int launch, LaunchResult& result) {
        if (launch == at) result.end = end.end;
      };
      EXPECT_EQ(outcome(script), end.outcome);
    }
  }
}

TEST(Judgement, ACallHasTwentyTimesTheReferenceOrTwoSeconds) {
  ExecutorScript script = right();
  script.wall = milliseconds(1999);
  EXPECT_EQ(outcome(script, untimed()), "passed");
  script.wall = milliseconds(2001);
  EXPECT_EQ(outcome(script, untimed()), "timeout");
  SessionOptions options = untimed();
  options.timeout_seconds = 3;
  EXPECT_EQ(outcome(script, options), "passed");
}

TEST(Judgement, ABuildThatIsCutDoesNotLoad) {
  ExecutorScript script = right();
  script.load = LaunchEnd::kFailed;
  script.end.failure = Failure::kLoad;
  FakeWorkload workload;
  const Result<Json> report = judge(workload, script);
  EXPECT_EQ(outcome_of(report), "runtime_error");
  EXPECT_EQ(message_of(report), "it does not load during loading");
  EXPECT_EQ(report->at("blocks"), 0);
  EXPECT_EQ(workload.lease.taken, 0);  // nothing was measured
}

TEST(Judgement, MoreCoreTimeThanTheClockAllowsIsBackgroundWork) {
  ExecutorScript script = right();
  script.on_launch = [](int, LaunchResult& result) {
    result.cpu_time = 2 * result.wall + milliseconds(3);
  };
  EXPECT_EQ(outcome(script), "violation background_work");
  EXPECT_EQ(outcome(script, without("cpu_witness")), "passed");
}

// A candidate that says done early still works while it is being frozen.
// The first call takes 20 s, and each of the others 1 ms.
TEST(Judgement, ACandidateThatCompilesItselfIsLoading) {
  for (bool timing : {true, false}) {
    for (bool is_right : {true, false}) {
      SessionOptions options;
      options.timing = timing;
      FakeWorkload workload(options);
      workload.learn_from_oracle();
      workload.start_baseline();
      ExecutorScript script = right();
      script.kernel = [&](const ScriptedCall& call) {
        compute_workload(call);
        if (call.launch == 0) workload.clock.advance(std::chrono::seconds(20));
        if (call.launch == 0 && !is_right) call.y()[5] += 1;
      };
      script.on_launch = [](int launch, LaunchResult& result) {
        if (launch == 0) result.wall = std::chrono::seconds(20);
      };
      JudgingContext context = workload.context();
      auto turn = TurnScope::begin(workload.turn);
      const auto report =
          Judgement(context, workload.candidate(script, Compiles::kAtFirstCall)).run().value();
      EXPECT_EQ(report.outcome, is_right ? task::Outcome::kPassed : task::Outcome::kWrongValue);
      EXPECT_GE(report.cost.load_ms, 20'000);
      for (double ns : report.candidate_ns) EXPECT_LT(ns, 2e6);
      // Other candidates have the time of a call.
      EXPECT_EQ(Judgement(context, workload.candidate(script)).run()->outcome,
                task::Outcome::kTimeout);
    }
  }
}

TEST(Judgement, AFrozenCandidateUsesNoCoreTime) {
  auto restless = [](std::chrono::nanoseconds ran, int first, int launches) {
    ExecutorScript script = right();
    script.on_launch = [=](int launch, LaunchResult& result) {
      if (launch >= first && launch < first + launches) result.ran_at_rest = ran;
    };
    return outcome(script);
  };
  EXPECT_EQ(restless(std::chrono::microseconds(150), 0, 1000), "violation background_work");
  // The kernel counts late, and a hypervisor stretches that now and then.
  EXPECT_EQ(restless(std::chrono::microseconds(90), 0, 1000), "passed");
  EXPECT_EQ(restless(milliseconds(5), 4, 4), "passed");
  ExecutorScript moving = right();
  moving.on_launch = [](int launch, LaunchResult& result) { result.was_moving = launch > 5; };
  EXPECT_EQ(outcome(moving), "violation background_work");
}

TEST(Judgement, TheLargerOfTwoWitnessesIsTheTime) {
  ExecutorScript script = right();
  script.on_launch = [](int, LaunchResult& result) { result.cpu_time += milliseconds(1); };
  FakeWorkload workload;
  const Result<Json> report = judge(workload, script);
  ASSERT_EQ(outcome_of(report), "passed");
  EXPECT_EQ(report->at("candidate_ns").at(0), 2e6);
}

TEST(Judgement, WorkAtRestIsPartOfTheNextCall) {
  ExecutorScript script = right();
  script.on_launch = [](int launch, LaunchResult& result) {
    if (launch == 3) result.ran_at_rest = milliseconds(1);
  };
  FakeWorkload workload;
  const Result<Json> report = judge(workload, script);
  ASSERT_EQ(outcome_of(report), "passed");
  const auto candidate = report->at("candidate_ns").get<std::vector<double>>();
  EXPECT_EQ(std::ranges::max(candidate), 2e6);
  EXPECT_EQ(std::ranges::count(candidate, 2e6), 1);
}

TEST(Judgement, ANoisyLaunchIsDropped) {
  ExecutorScript script = right();
  script.on_launch = [](int launch, LaunchResult& result) {
    if (launch != 3) return;  // the second launch of the first block that counts
    result.waited = milliseconds(50);
    result.wall += milliseconds(50);
  };
  FakeWorkload workload;
  const Result<Json> report = judge(workload, script);
  ASSERT_EQ(outcome_of(report), "passed");
  EXPECT_EQ(report->at("disturbed_samples"), 1U);
  const auto candidate = report->at("candidate_ns").get<std::vector<double>>();
  EXPECT_TRUE(std::ranges::all_of(candidate, [](double ns) { return ns == 1e6; }));
}

TEST(Judgement, NoiseInEveryOtherLaunchEndsUnmeasured) {
  ExecutorScript script = right();
  script.on_launch = [](int launch, LaunchResult& result) {
    if (launch % 2 == 1) result.page_faults = 1000;  // half a millisecond of page faults
  };
  FakeWorkload workload;
  const Result<Json> report = judge(workload, script);
  ASSERT_EQ(outcome_of(report), "passed");
  const auto dropped = report->at("disturbed_samples").get<std::uint64_t>();
  EXPECT_TRUE(too_many_dropped(dropped, report->at("candidate_ns").size()));
  EXPECT_EQ(report->at("disturbed_by_faults"), dropped);
}

TEST(Judgement, EarlyNoiseIsOutweighedByMoreBlocks) {
  ExecutorScript script = right();
  script.on_launch = [](int launch, LaunchResult& result) {
    if (launch == 2 || launch == 5) result.page_faults = 1000;
  };
  FakeWorkload workload;
  const Result<Json> report = judge(workload, script);
  ASSERT_EQ(outcome_of(report), "passed");
  EXPECT_EQ(report->at("disturbed_samples"), 2U);
  EXPECT_FALSE(too_many_dropped(2, report->at("candidate_ns").size()));
}

TEST(Judgement, NoMeasurementEndsWithoutAnAudit) {
  FakeWorkload workload;
  workload.goal.max_seconds = 0.001;  // less than one block
  for (int i = 0; i < 8; ++i) {
    const Result<Json> report = judge(workload, right());
    ASSERT_EQ(outcome_of(report), "passed");
    EXPECT_GE(report->at("audits"), 1);
    EXPECT_LE(report->at("blocks"), 2);
  }
}

TEST(Judgement, ABaselineThatExitsInABlockIsNobodysVerdict) {
  for (int at : {0, 6}) {
    FakeWorkload workload;
    workload.learn_from_oracle();
    ExecutorScript baseline;
    baseline.on_launch = [at](int launch, LaunchResult& result) {
      if (launch == at) result.end = LaunchEnd::kExited;
    };
    workload.start_baseline(baseline);
    const Result<Json> report = judge(workload, right());
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code(), ErrorCode::kUnavailable);
    EXPECT_EQ(report.error().message().substr(0, 20), "the baseline failed:");
    EXPECT_EQ(workload.lease.taken, workload.lease.given_back);
  }
}

TEST(Judgement, AnOracleThatDiesBeforeTheAuditConvictsNobody) {
  for (bool has_known_instances : {true, false}) {
    FakeWorkload workload;
    workload.learn_from_oracle(has_known_instances);
    workload.start_baseline();
    workload.oracle.die();
    // A known instance needs no run of the reference.
    const std::string fine = outcome_of(judge(workload, right()));
    const std::string dead = "error: the reference failed: the reference's process ended";
    EXPECT_EQ(fine, has_known_instances ? "passed" : dead);
    // A doubtful output needs one.
    auto slightly_off = after_right([](const ScriptedCall& call) { call.y()[5] *= 1.001F; });
    EXPECT_EQ(outcome_of(judge(workload, slightly_off)), dead);
  }
}

TEST(Judgement, TheBaselineAloneDoesNotConvict) {
  FakeWorkload workload;
  workload.learn_from_oracle();
  ExecutorScript baseline;
  baseline.kernel = [](const ScriptedCall& call) {
    compute_workload(call);
    call.y()[9] += 0.01F;  // the baseline errs
  };
  workload.start_baseline(baseline);
  EXPECT_EQ(outcome_of(judge(workload, right())), "passed");
}

// The baseline errs in an element of each call; the candidate in one of a call's.
TEST(Judgement, ALargeOutputIsJudgedInPartsUnlessItIsInDoubt) {
  for (bool is_right : {true, false}) {
    FakeWorkload workload(untimed());
    workload.signature.outputs[0].shape = {8, 32};
    workload.reference.judge_in_parts_beyond(64);
    workload.learn_from_oracle();
    ExecutorScript baseline = after_right([](const ScriptedCall& call) { call.y()[9] += 0.01F; });
    workload.start_baseline(baseline);
    const ExecutorScript wrong = after_right([](const ScriptedCall& call) {
      if (call.launch == 2) call.y()[200] += 0.5F;
    });
    EXPECT_EQ(outcome_of(judge(workload, is_right ? right() : wrong)),
              is_right ? "passed" : "wrong_value");
  }
}

TEST(Judgement, UntimedCallsAreCheckedAndOneIsAudited) {
  FakeWorkload workload(untimed());
  const Result<Json> report = judge(workload, right());
  ASSERT_EQ(outcome_of(report), "passed");
  EXPECT_EQ(report->at("blocks"), 3);
  EXPECT_EQ(report->at("audits"), 1);
  EXPECT_EQ(report->at("timed"), false);
  EXPECT_EQ(workload.lease.taken, 0);
}

TEST(Judgement, OthersMeasurementsAreNoPartOfTheLimit) {
  FakeWorkload workload;
  workload.lease.on_take = [&workload] { workload.clock.advance(std::chrono::minutes(1)); };
  const Result<Json> report = judge(workload, right());
  ASSERT_EQ(outcome_of(report), "passed");
  EXPECT_GE(report->at("candidate_ns").size(), 8U);
}

TEST(Judgement, AWideIntervalEndsWithItsTime) {
  FakeWorkload workload;
  workload.goal.max_seconds = 0.5;
  ExecutorScript script = right();
  script.on_launch = [](int launch, LaunchResult& result) {
    result.wall *= 1 + launch % 7;
    result.cpu_time = result.wall;
  };
  const Result<Json> report = judge(workload, script);
  ASSERT_EQ(outcome_of(report), "passed");
  // A block is two launches of 1 ms and two of 2 ms by the clock: 84 blocks in half a second.
  EXPECT_NEAR(report->at("blocks").get<double>(), 83, 2);
  EXPECT_GE(report->at("audits"), 1);
}

// As a GPU's backend asks: launches of several calls, each on inputs of its own.
// On a GPU: the device's clock says what the checker's does.
ExecutorScript on_gpu() {
  ExecutorScript script = right();
  script.device_clock = true;
  script.on_launch = [null = script.null_wall](int, LaunchResult& result) {
    result.device_span = result.device_time = result.wall - null;
  };
  return script;
}

BusyTime::Clock::time_point busy_now;

TEST(Judgement, TellsHowLongTheGpuWasBusyMeanwhile) {
  busy_now = {};
  BusyTime busy([] { return busy_now; });
  busy.begin();
  busy_now += std::chrono::milliseconds(5);
  FakeWorkload workload;
  workload.gpu_busy = &busy;
  workload.learn_from_oracle();
  workload.start_baseline(on_gpu());
  ExecutorScript script = on_gpu();
  int launches = 0;
  script.kernel = [&launches, right = script.kernel](const ScriptedCall& call) {
    right(call);
    busy_now += std::chrono::milliseconds(1);
    launches += 1;
  };
  const Json report = judge(workload, script).value();
  EXPECT_GT(launches, 0);
  EXPECT_EQ(report["cost"]["gpu_busy_ms"], launches);
}

TEST(Judgement, AnAuditBesideAGpuConvictsAtTheEnd) {
  FakeWorkload workload;
  workload.learn_from_oracle();
  ExecutorScript wrong = on_gpu();
  wrong.kernel = [right = wrong.kernel](const ScriptedCall& call) {
    right(call);
    call.y()[3] += 0.25F;
  };
  workload.start_baseline(wrong);
  EXPECT_EQ(outcome_of(judge(workload, wrong)), "wrong_value");
}

TEST(Judgement, APlanIsProfiledAndItsMemoryTold) {
  FakeWorkload workload;
  workload.roofline = task::GpuRoofline{2048, 0, 4e12, 0, ""};
  workload.learn_from_oracle();
  ExecutorScript baseline = on_gpu();
  baseline.call_bytes = 2048;
  workload.start_baseline(baseline);
  ExecutorScript plan = on_gpu();
  plan.call_bytes = 1024;
  plan.plan_call.emplace();
  plan.plan_call->kernels = {{.ns = 900'000,
                              .launches = 1,
                              .registers = 32,
                              .local_bytes = 0,
                              .shared_bytes = 0,
                              .threads = 256,
                              .resident_threads = 1024}};
  plan.plan_call->most_threads = 2048;
  const Json report = judge(workload, plan).value();
  ASSERT_EQ(report["outcome"], "passed") << report.dump(1);
  EXPECT_EQ(report["gpu"]["candidate_bytes"], 1024);
  EXPECT_EQ(report["gpu"]["baseline_bytes"], 2048);
  EXPECT_EQ(report["gpu"]["call"]["kernels"][0]["occupancy"], 0.5);
  EXPECT_EQ(report["gpu"]["roofline"]["bytes"], 2048);

  plan.profile = LaunchEnd::kTimeout;
  const Json late = judge(workload, plan).value();
  EXPECT_EQ(late["outcome"], "timeout");
  EXPECT_FALSE(late["gpu"].contains("call"));
}

TEST(Judgement, NoCallIsFasterThanTheMemory) {
  FakeWorkload workload;
  workload.learn_from_oracle();
  workload.start_baseline(on_gpu());
  JudgingContext context = workload.context();
  task::Signature large = workload.signature;
  large.outputs[0].shape = {std::int64_t{1} << 30};
  auto turn = TurnScope::begin(workload.turn);
  for (const double rate : {1e12, 4e12}) {  // 2.7 and 0.7 ms for these outputs; a call takes 1 ms
    workload.roofline = task::GpuRoofline{0, 0, rate, 0, ""};
    JudgingContext with_large{workload.options,
                              workload.goal,
                              large,
                              workload.sets,
                              workload.inputs,
                              workload.checker,
                              workload.comparer,
                              workload.reference,
                              workload.audits,
                              workload.hard,
                              workload.seeds,
                              *workload.baseline,
                              workload.reference_time,
                              1U,
                              workload.turn,
                              workload.lease,
                              workload.clock,
                              workload.machine,
                              workload.roofline};
    const WorkloadReport report = Judgement(with_large, workload.candidate(on_gpu())).run().value();
    EXPECT_EQ(report.outcome, rate < 2e12 ? task::Outcome::kViolation : task::Outcome::kPassed);
    EXPECT_EQ(report.violation, rate < 2e12 ? "impossible_time" : "");
  }
}

TEST(Judgement, LaunchesOfSeveralCalls) {
  FakeWorkload workload;
  workload.calls_per_launch = 4;
  workload.reference_time = std::chrono::microseconds(100);
  ExecutorScript script = right();
  std::vector<std::chrono::nanoseconds> walls;
  script.on_launch = [&walls](int, LaunchResult& result) { walls.push_back(result.wall); };
  const Result<Json> report = judge(workload, script);
  ASSERT_EQ(outcome_of(report), "passed");
  EXPECT_EQ(walls.at(0), milliseconds(4) + std::chrono::microseconds(10));
  EXPECT_NEAR(report->at("candidate_ns").at(0).get<double>(), 1e6, 1);
  // The last call of a launch is checked like the first.
  for (std::uint32_t wrong : {0U, 3U}) {
    FakeWorkload again;
    again.calls_per_launch = 4;
    again.reference_time = std::chrono::microseconds(100);
    auto calls = std::make_shared<std::uint32_t>(0);
    EXPECT_EQ(outcome_of(judge(again, after_right([calls, wrong](const ScriptedCall& call) {
                                 if ((*calls)++ == wrong) call.y()[0] += 1;
                               }))),
              "wrong_value");
  }
}

}  // namespace
}  // namespace kw::gym
