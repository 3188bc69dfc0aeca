// Tests of a session's requests to its checker, and of what it makes of the answers.
#include "gym/supervisor/problem_session.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using sandbox::FakeLaunch;
using ::testing::Contains;
using ::testing::HasSubstr;

Executable python_program() {
  Executable program;
  program.python = true;
  program.files = {{"candidate.py", "def run(x): return x\n"}};
  program.entry_file = "candidate.py";
  program.entry = "run";
  return program;
}

class ProblemSessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<ProblemSession> opened(const EvalOptions& options = {}) {
    auto session = sessions_.open(options);
    EXPECT_TRUE(session) << session.error().message();
    sessions_.request<OpenRequest>();
    return std::move(*session);
  }
  // Starts a baseline whose call takes this long.
  BaselineRequest start_baseline(ProblemSession& session, PairMemory memory,
                                 std::int64_t reference_ns = 1'000'000) {
    EXPECT_TRUE(session.start_baseline(python_program(), memory));
    sessions_.answer(BaselineStarted{"", reference_ns});
    return sessions_.request<BaselineRequest>();
  }
  WorkloadReport judge(ProblemSession& session, const WorkloadReport& answer = {},
                       const EvalOptions& options = {}) {
    sessions_.answer(answer);
    auto report = session.judge(python_program(), options, {}, {});
    EXPECT_TRUE(report) << report.error().message();
    return report ? *report : WorkloadReport{};
  }
  testing::FakeSessions sessions_;
};

::ino_t inode_of(int fd) {
  struct stat file{};
  ::fstat(fd, &file);
  return file.st_ino;
}

TEST_F(ProblemSessionTest, OpensWithReferenceOracleAndTimingLock) {
  EvalOptions options;
  options.threads = 2;
  auto session = sessions_.open(options);
  ASSERT_TRUE(session) << session.error().message();
  const auto request = sessions_.request<OpenRequest>();
  EXPECT_TRUE(request.admit);
  EXPECT_EQ(request.options.threads, 2);
  ASSERT_EQ(request.inputs.size(), 1U);
  EXPECT_EQ(request.inputs[0].name, "x");
  for (const char* name : {"oracle.control", "oracle.monitor1", "timing.lock", "timing.queue"})
    EXPECT_THAT(sessions_.fds, Contains(name));
  EXPECT_EQ(os::read_to_end(sessions_.received.take("reference")->get(), 1000).value(),
            sessions_.problem.definition().reference);
  const FakeLaunch& oracle = *sessions_.roles.launches.launches.at(0);
  EXPECT_EQ(oracle.spec.role, "oracle");
  // 2 GiB, and twice what the candidate has: 2 GiB and four times its 2 KiB of tensors.
  EXPECT_EQ(oracle.spec.limits.memory_bytes, 3 * (2ULL << 30U) + 8ULL * 2048);
}

TEST_F(ProblemSessionTest, AnUntimedWorkloadWithDistributionsOfItsOwnHasNoHardInputs) {
  const auto options_of = [this](bool is_timed, bool has_own_inputs) {
    task::WorkloadPolicy& policy = sessions_.problem.policy.workloads["w"];
    policy.timed = is_timed;
    policy.inputs.clear();
    if (has_own_inputs) policy.inputs["x"].high = 2;
    EXPECT_TRUE(sessions_.open());
    return sessions_.request<OpenRequest>().options;
  };
  for (const bool is_timed : {true, false}) {
    EXPECT_TRUE(options_of(is_timed, false).hard_inputs);
    EXPECT_EQ(options_of(is_timed, true).hard_inputs, is_timed);
    EXPECT_EQ(options_of(is_timed, true).timed, is_timed);
  }
}

// Nothing that a checker does without measuring may run beside a measurement on its GPU or the CPU.
TEST_F(ProblemSessionTest, WhereAGpuIsTimedTheCheckerGetsItsLockAndTheOneOfTheCpu) {
  sessions_.timed_on = "gpu0";
  ASSERT_TRUE(sessions_.open());
  sessions_.request<OpenRequest>();
  for (const char* name : {"timing.lock", "timing.queue", "timing.cpu.lock", "timing.cpu.queue"})
    EXPECT_THAT(sessions_.fds, Contains(name));
  const TimingLock gpu = TimingLock::open("gpu0").value();
  EXPECT_EQ(inode_of(sessions_.received.take("timing.lock")->get()), inode_of(gpu.lock_fd()));
  EXPECT_EQ(inode_of(sessions_.received.take("timing.cpu.lock")->get()),
            inode_of(gpu.cpu()->lock_fd()));
}

TEST_F(ProblemSessionTest, AReferenceThatFailsIsAFinding) {
  Opened failed;
  failed.findings.failure = "run: no module named y";
  failed.findings.reference_failed = true;
  auto session = sessions_.open({}, failed);
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ((*session)->findings().failure, "run: no module named y");
}

// Others use the GPU too.
TEST_F(ProblemSessionTest, AFullGpuIsNoFindingAboutTheReference) {
  Opened failed;
  failed.findings.failure = "torch.AcceleratorError: CUDA error: out of memory";
  EXPECT_TRUE(sessions_.open({}, failed));  // of a reference on the processor: its own words
  sessions_.device = 0;
  const auto session = sessions_.open({}, failed);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), ErrorCode::kResourceExhausted);
}

TEST_F(ProblemSessionTest, ACandidateIsJudgedBesideTheBaseline) {
  auto session = opened();
  EXPECT_FALSE(session->has_baseline());
  start_baseline(*session, PairMemory::kDrawn);
  EXPECT_TRUE(session->has_unused_baseline());
  WorkloadReport answer;
  answer.outcome = task::Outcome::kWrongValue;
  EXPECT_EQ(judge(*session, answer).outcome, task::Outcome::kWrongValue);
  EXPECT_TRUE(session->has_baseline());
  EXPECT_FALSE(session->has_unused_baseline());
  EXPECT_TRUE(sessions_.request<JudgeRequest>().memory_is_free);
  EXPECT_THAT(sessions_.fds, Contains("candidate.source"));
  const auto& launches = sessions_.roles.launches.launches;
  EXPECT_TRUE(launches.at(1)->is_alive);   // the baseline
  EXPECT_FALSE(launches.at(2)->is_alive);  // the candidate
}

TEST_F(ProblemSessionTest, MemoryIsKeptExchangedOrNewAsAsked) {
  auto session = opened();
  BaselineRequest first = start_baseline(*session, PairMemory::kDrawn);
  EXPECT_FALSE(first.exchanged);
  EXPECT_FALSE(first.memory_is_free);
  judge(*session);
  sessions_.request<JudgeRequest>();
  BaselineRequest exchanged = start_baseline(*session, PairMemory::kExchanged);
  EXPECT_EQ(exchanged.exchanged, true);
  EXPECT_TRUE(exchanged.memory_is_free);  // both processes of the pair before are dead
  judge(*session);
  sessions_.request<JudgeRequest>();
  EXPECT_EQ(start_baseline(*session, PairMemory::kKept).exchanged, false);
  judge(*session);
  sessions_.request<JudgeRequest>();
  EXPECT_FALSE(start_baseline(*session, PairMemory::kNew).memory_is_free);
}

TEST_F(ProblemSessionTest, ABaselineThatDoesNotRunIsOurFailureAndSaysWhy) {
  auto session = opened();
  sessions_.roles.launches.on_launch = [](FakeLaunch& launch) {
    ASSERT_TRUE(os::write_all(launch.spec.log.get(), "no compiler for torch.compile\n"));
  };
  ASSERT_TRUE(session->start_baseline(python_program(), PairMemory::kDrawn));
  sessions_.answer(BaselineStarted{"it exited", 0});
  auto report = session->judge(python_program(), {}, {}, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(report.error().message(), HasSubstr("it exited"));
  EXPECT_THAT(report.error().message(), HasSubstr("no compiler for torch.compile"));
}

TEST_F(ProblemSessionTest, AFloodOfOutputIsAnOutcomeUnlessMoreIsProven) {
  auto session = opened();
  start_baseline(*session, PairMemory::kDrawn);
  sessions_.roles.launches.on_launch = [](FakeLaunch& launch) {
    ASSERT_TRUE(os::write_all(launch.spec.log.get(), std::string(sandbox::Log::kLimit + 1, 'x')));
  };
  const WorkloadReport flood = judge(*session);
  EXPECT_EQ(flood.outcome, task::Outcome::kOutputLimit);
  EXPECT_THAT(flood.log, HasSubstr("xxx"));
  WorkloadReport violation;
  violation.outcome = task::Outcome::kViolation;
  violation.violation = "wrote outside";
  EXPECT_EQ(judge(*session, violation).outcome, task::Outcome::kViolation);
}

TEST_F(ProblemSessionTest, EveryJudgementHasAGoalOfItsOwn) {
  auto session = opened();
  start_baseline(*session, PairMemory::kDrawn);
  EvalOptions options;
  options.half_width_percent = 5;
  options.max_seconds = 7;
  judge(*session, {}, options);
  EXPECT_EQ(sessions_.request<JudgeRequest>().goal, (MeasuringGoal{0.05, 7, 1}));
  options.max_seconds = 2;
  options.process_pairs = 3;
  judge(*session, {}, options);
  EXPECT_EQ(sessions_.request<JudgeRequest>().goal, (MeasuringGoal{0.05, 2, 3, 0}));
  sessions_.answer(WorkloadReport());
  ASSERT_TRUE(session->judge(python_program(), options, {}, {.pair = 2}));
  EXPECT_EQ(sessions_.request<JudgeRequest>().goal, (MeasuringGoal{0.05, 2, 3, 2}));
}

TEST_F(ProblemSessionTest, FastWritersAndPreciseRequestsAreMeasuredByManyPairs) {
  EvalOptions options;
  auto slow = opened(options);
  start_baseline(*slow, PairMemory::kDrawn, 1'000'000);  // 1 KiB a millisecond
  judge(*slow, {}, options);
  EXPECT_EQ(slow->process_pairs(options), 1);
  EXPECT_EQ(sessions_.request<JudgeRequest>().goal.process_pairs, 1);
  auto fast = opened(options);
  start_baseline(*fast, PairMemory::kDrawn, 1000);  // 1 KiB a microsecond
  judge(*fast, {}, options);
  EXPECT_EQ(fast->process_pairs(options), 8);
  EXPECT_EQ(sessions_.request<JudgeRequest>().goal.process_pairs, 8);
  options.process_pairs = 3;
  EXPECT_EQ(opened(options)->process_pairs(options), 3);
  options.process_pairs = 0;
  options.precise = true;
  auto precise = opened(options);
  start_baseline(*precise, PairMemory::kDrawn, 1'000'000);  // as slow as the first
  judge(*precise, {}, options);
  EXPECT_EQ(precise->process_pairs(options), 8);
  EXPECT_DOUBLE_EQ(sessions_.request<JudgeRequest>().goal.half_width, kPreciseHalfWidth);
}

// Plans on a GPU.
class ResidentPlans : public ProblemSessionTest {
 protected:
  void SetUp() override {
    sessions_.device = 0;
    session_ = opened();
    start_baseline(*session_, PairMemory::kDrawn);
  }
  WorkloadReport judge_plan(const WorkloadReport& answer = {}, bool wants_fresh = false) {
    Executable plan;
    plan.plan = os::make_sealed_file("plan", "KWPLAN1").value();
    sessions_.answer(answer);
    auto report = session_->judge(plan, {}, {}, {.wants_fresh = wants_fresh});
    EXPECT_TRUE(report) << report.error().message();
    request_ = sessions_.request<JudgeRequest>();
    return report ? *report : WorkloadReport{};
  }
  std::size_t launched() const { return sessions_.roles.launches.launches.size(); }
  bool last_is_alive() const { return sessions_.roles.launches.launches.back()->is_alive; }

  std::unique_ptr<ProblemSession> session_;
  JudgeRequest request_;
};

TEST_F(ResidentPlans, ShareAnExecutorWhileTheyLeaveItUsable) {
  EXPECT_EQ(judge_plan().gpu->context, task::GpuContext::kFresh);
  EXPECT_FALSE(request_.resident);
  EXPECT_TRUE(last_is_alive());
  const std::size_t before = launched();
  WorkloadReport wrong;
  wrong.outcome = task::Outcome::kWrongValue;
  EXPECT_EQ(judge_plan(wrong).gpu->context, task::GpuContext::kResident);
  EXPECT_TRUE(request_.resident);
  EXPECT_EQ(sessions_.fds, Json({"candidate.source"}));
  EXPECT_EQ(judge_plan().gpu->context, task::GpuContext::kResident);
  EXPECT_EQ(launched(), before);
  WorkloadReport fault;
  fault.outcome = task::Outcome::kRuntimeError;
  judge_plan(fault);
  EXPECT_FALSE(last_is_alive());
  EXPECT_EQ(judge_plan().gpu->context, task::GpuContext::kFresh);
  EXPECT_EQ(launched(), before + 1);
  EXPECT_TRUE(request_.memory_is_free);  // the faulting one is dead
}

TEST_F(ResidentPlans, AreTriedOutInTheExecutorThatJudgesThem) {
  judge_plan();
  const std::size_t before = launched();
  Executable plan;
  plan.plan = os::make_sealed_file("plan", "KWPLAN1").value();
  sessions_.answer(Tried{task::Outcome::kWrongValue, 1500});
  const auto tried = session_->try_out(plan, {});
  ASSERT_TRUE(tried) << tried.error().message();
  EXPECT_EQ(tried->call_ns, 1500);
  EXPECT_TRUE(sessions_.request<TrialRequest>().resident);
  EXPECT_EQ(judge_plan().gpu->context, task::GpuContext::kResident);
  EXPECT_EQ(launched(), before);
  sessions_.answer(Tried{task::Outcome::kTimeout, 0});
  ASSERT_TRUE(session_->try_out(plan, {}));
  sessions_.request<TrialRequest>();
  EXPECT_FALSE(last_is_alive());
}

TEST_F(ResidentPlans, GetOneOfTheirOwnWhereThatIsAskedFor) {
  judge_plan();
  const std::size_t before = launched();
  EXPECT_EQ(judge_plan({}, true).gpu->context, task::GpuContext::kFresh);
  EXPECT_EQ(launched(), before + 1);
  EXPECT_TRUE(request_.memory_is_free);
  EXPECT_FALSE(sessions_.roles.launches.launches[before - 1]->is_alive);
}

// A kernel's text would be told as the next candidate's.
TEST_F(ResidentPlans, LeaveNoTextToTheNext) {
  sessions_.roles.launches.on_launch = [](FakeLaunch& launch) {
    ASSERT_TRUE(os::write_all(launch.spec.log.get(), "from a kernel\n"));
  };
  EXPECT_THAT(judge_plan().log, HasSubstr("from a kernel"));
  EXPECT_FALSE(last_is_alive());
}

TEST_F(ResidentPlans, EndBeforeAnotherBaselineStarts) {
  judge_plan();
  EXPECT_TRUE(last_is_alive());
  EXPECT_TRUE(start_baseline(*session_, PairMemory::kDrawn).memory_is_free);
  EXPECT_EQ(judge_plan().gpu->context, task::GpuContext::kFresh);
}

TEST_F(ProblemSessionTest, WhatIsTimedBesideIsOnOtherCores) {
  std::vector<std::vector<int>> cores;
  for (int place = 0; place < 2; ++place) {
    sessions_.timed_place = {place, 2};
    auto session = opened();
    start_baseline(*session, PairMemory::kDrawn);
    judge(*session);
    const auto& launches = sessions_.roles.launches.launches;
    cores.push_back(launches.back()->spec.cpus);
    EXPECT_EQ(launches.at(launches.size() - 2)->spec.cpus, cores.back());
  }
  ASSERT_EQ(cores[0].size(), 1U);
  ASSERT_EQ(cores[1].size(), 1U);
  if (plan_cores(1 << 20, std::nullopt).executor.size() >= 2) {
    EXPECT_NE(cores[0], cores[1]);
  }
}

TEST_F(ProblemSessionTest, OnAGpuBothSidesRunThereAndTheCheckerHoldsItsMemory) {
  sessions_.device = 1;
  auto session = opened();
  EXPECT_EQ(sessions_.checker_device, 1);
  // A call of a nanosecond: on the processor that would take many pairs.
  const BaselineRequest baseline = start_baseline(*session, PairMemory::kDrawn, 1);
  EXPECT_EQ(baseline.baseline.setup.language, ExecutorLanguage::kPython);
  EXPECT_EQ(baseline.baseline.setup.device, 1);
  Executable plan;
  plan.plan = os::make_sealed_file("plan", "KWPLAN1").value();
  sessions_.answer(WorkloadReport{});
  ASSERT_TRUE(session->judge(plan, {}, {}, {}));
  const auto request = sessions_.request<JudgeRequest>();
  EXPECT_EQ(request.candidate.setup.language, ExecutorLanguage::kPlan);
  EXPECT_EQ(request.candidate.setup.device, 1);
  EXPECT_EQ(request.goal.process_pairs, 1);
  EXPECT_EQ(os::read_to_end(sessions_.received.take("candidate.source")->get(), 100).value(),
            "KWPLAN1");
  const auto& launches = sessions_.roles.launches.launches;
  EXPECT_EQ(launches.at(1)->spec.role, "gpu_executor");
  EXPECT_EQ(launches.at(1)->where, sandbox::Where::kZygote);
  EXPECT_EQ(launches.at(2)->spec.role, "gpu_executor");
  EXPECT_EQ(launches.at(2)->program, sessions_.roles.programs.gpu_executor.string());
}

}  // namespace
}  // namespace kw::gym
