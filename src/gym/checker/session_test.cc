// Sessions over a target without processes: opening, baselines, judging.
#include "gym/checker/session.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "gym/checker/testing/fake_backend.h"
#include "gym/checker/testing/fake_workload.h"

namespace kw::gym {
namespace {

using testing::compute_workload;
using testing::FakeBackend;
using testing::ScriptedOracle;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    backend_.baseline.kernel = compute_workload;
    backend_.baseline.wall = std::chrono::milliseconds(2);
    backend_.candidate.kernel = compute_workload;
  }
  static OpenRequest definition() {
    OpenRequest request;
    request.admit = true;
    request.signature = testing::workload_signature();
    request.inputs = {testing::input_plan("x")};
    return request;
  }
  // A module with one parameter, by which the result is multiplied.
  static OpenRequest module() {
    OpenRequest request = definition();
    request.kind = ProblemKind::kModule;
    return request;
  }
  static std::unique_ptr<ScriptedOracle> module_oracle() {
    auto oracle = std::make_unique<ScriptedOracle>(testing::workload_function);
    oracle->description.signature = testing::workload_signature();
    task::Argument scale = testing::float_tensor("scale", task::Role::kStatic);
    scale.shape = {1};
    scale.state_key = "scale";
    oracle->description.signature.statics = {scale};
    oracle->description.init_args = "[128]";
    return oracle;
  }

  Status open(const OpenRequest& request) {
    const TimingLock lock = TimingLock::open_in(folder_.path(), "", timed_on_).value();
    os::Message message;
    const auto add = [&](const char* name, int fd) {
      message.body["fds"].push_back(name);
      message.fds.emplace_back(::dup(fd));
    };
    add("timing.lock", lock.lock_fd());
    add("timing.queue", lock.queue_fd());
    if (lock.cpu() != nullptr) {
      add("timing.cpu.lock", lock.cpu()->lock_fd());
      add("timing.cpu.queue", lock.cpu()->queue_fd());
    }
    const os::UniqueFd reference = os::make_sealed_file("reference", "def run(x): ...").value();
    add("reference", reference.get());
    KW_TRY(ReceivedFds fds, ReceivedFds::of(message));
    opened_ = {};
    KW_TRY(session_, Session::open(request, std::move(fds), opened_, backend_));
    return {};
  }
  Result<BaselineStarted> start_baseline(bool memory_is_free = false) {
    BaselineRequest request;
    request.memory_is_free = memory_is_free;
    ReceivedFds none;
    KW_TRY(TurnScope turn, TurnScope::begin(session_->turn()));
    return session_->start_baseline(request, none);
  }
  Result<WorkloadReport> judge(bool memory_is_free = false) {
    JudgeRequest request;
    request.memory_is_free = memory_is_free;
    ReceivedFds none;
    return judge(request, none);
  }
  Result<WorkloadReport> judge(const JudgeRequest& request, ReceivedFds& fds) {
    KW_TRY(TurnScope turn, TurnScope::begin(session_->turn()));
    return session_->judge(request, fds, lease_);
  }
  // In the executor of the candidate before.
  Result<WorkloadReport> judge_resident() {
    KW_TRY(ReceivedFds fds, plan_fds());
    JudgeRequest request;
    request.resident = true;
    return judge(request, fds);
  }
  Result<Tried> try_out_resident() {
    KW_TRY(ReceivedFds fds, plan_fds());
    TrialRequest request;
    request.resident = true;
    KW_TRY(TurnScope turn, TurnScope::begin(session_->turn()));
    return session_->try_out(request, fds, lease_);
  }
  static Result<ReceivedFds> plan_fds() {
    os::Message message;
    message.body["fds"] = {"candidate.source"};
    message.fds.push_back(os::make_sealed_file("source", "a plan").value());
    return ReceivedFds::of(message);
  }

  os::TempDir folder_ = os::TempDir::make("kw-session-").value();
  FakeBackend backend_{[this] { return make_oracle_(); }};
  testing::FakeLease lease_;
  std::string timed_on_ = std::string(TimingLock::kCpu);
  std::function<std::unique_ptr<ScriptedOracle>()> make_oracle_ = [] {
    return std::make_unique<ScriptedOracle>(testing::workload_function);
  };
  std::unique_ptr<Session> session_;
  Opened opened_;
};

TEST_F(SessionTest, OpensJudgesAndJudgesAgain) {
  ASSERT_TRUE(open(definition()));
  EXPECT_EQ(opened_.findings.failure, "");
  EXPECT_TRUE(opened_.findings.passing.empty());
  EXPECT_TRUE(opened_.findings.inert.empty());
  EXPECT_EQ(opened_.findings.reference_ms, 1.0);
  EXPECT_EQ(start_baseline().value().reference_ns, 2000000);
  EXPECT_EQ(judge().value().outcome, task::Outcome::kPassed);
  backend_.candidate.kernel = [](const testing::ScriptedCall& call) { call.y()[0] = 1; };
  EXPECT_EQ(judge().value().outcome, task::Outcome::kWrongValue);
  EXPECT_EQ(lease_.taken, lease_.given_back);
}

TEST_F(SessionTest, WhereAGpuIsTimedATurnSharesItsLockAndTheOneOfTheCpu) {
  timed_on_ = "gpu1";
  ASSERT_TRUE(open(definition()));
  const auto is_free = [&](const char* resource) {
    const TimingLock looks = TimingLock::open_in(folder_.path(), "", resource).value();
    return ::flock(looks.lock_fd(), LOCK_EX | LOCK_NB) == 0;
  };
  for (const char* resource : {"gpu1", "cpu"}) {
    auto turn = TurnScope::begin(session_->turn());
    ASSERT_TRUE(turn);
    EXPECT_FALSE(is_free(resource)) << resource;
  }
  EXPECT_TRUE(is_free("gpu1"));
  EXPECT_TRUE(is_free("cpu"));
}

TEST_F(SessionTest, AReferenceThatFailsIsTheAnswer) {
  make_oracle_ = [] {
    auto oracle = std::make_unique<ScriptedOracle>(testing::workload_function);
    oracle->die();
    return oracle;
  };
  ASSERT_TRUE(open(definition()));
  EXPECT_EQ(opened_.findings.failure, "the reference's process ended");
  EXPECT_EQ(opened_.findings.reference_failed, true);
}

TEST_F(SessionTest, AReferenceThatRunsAndCannotBeJudgedHasNotFailed) {
  make_oracle_ = [] {
    auto oracle = module_oracle();
    oracle->description.random_in_forward = true;
    return oracle;
  };
  ASSERT_TRUE(open(module()));
  EXPECT_EQ(opened_.findings.failure, "its forward draws random numbers, so no two runs agree");
  EXPECT_EQ(opened_.findings.reference_failed, false);
}

TEST_F(SessionTest, AnUnknownMechanismIsRefused) {
  OpenRequest request = definition();
  request.options.disabled = {"luck"};
  const Status opened = open(request);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(SessionTest, NothingIsJudgedWithoutABaseline) {
  ASSERT_TRUE(open(definition()));
  EXPECT_EQ(judge().error().code(), ErrorCode::kInternal);
}

TEST_F(SessionTest, ABaselineThatFailsSaysHow) {
  ASSERT_TRUE(open(definition()));
  backend_.baseline.load = LaunchEnd::kFailed;
  backend_.baseline.end.failure = Failure::kEntryMissing;
  EXPECT_EQ(start_baseline().value().failure, "its entry point is missing during loading");
  backend_.baseline.load = LaunchEnd::kDone;
  backend_.baseline.on_launch = [](int launch, LaunchResult& result) {
    if (launch == 1) result.end = LaunchEnd::kTimeout;  // while it warms up
  };
  EXPECT_EQ(start_baseline().value().failure, "no answer in time during a call");
}

TEST_F(SessionTest, OnlyTheFirstBaselineWarmsUp) {
  ASSERT_TRUE(open(definition()));
  int launches = 0;
  backend_.baseline.on_launch = [&launches](int, LaunchResult&) { ++launches; };
  ASSERT_TRUE(start_baseline());
  EXPECT_EQ(launches, 3);
  ASSERT_TRUE(start_baseline(true));
  EXPECT_EQ(launches, 3);
}

TEST_F(SessionTest, ModulesGetTheParametersOfTheReference) {
  make_oracle_ = module_oracle;
  ASSERT_TRUE(open(module()));
  EXPECT_EQ(opened_.findings.failure, "");
  EXPECT_EQ(opened_.init_args, "[128]");
  auto scaled = [](const testing::ScriptedCall& call) {
    compute_workload(call);
    const float scale = *reinterpret_cast<const float*>(call.statics->tensor(0).data());
    for (float& value : call.y()) value *= scale;
  };
  backend_.baseline.kernel = scaled;
  backend_.candidate.kernel = scaled;
  ASSERT_EQ(start_baseline().value().failure, "");
  EXPECT_EQ(judge().value().outcome, task::Outcome::kPassed);
  // Both are built by the same secret seed.
  ASSERT_EQ(backend_.setups.size(), 2U);
  EXPECT_EQ(backend_.setups[0].param_seed, backend_.setups[1].param_seed);
  EXPECT_EQ(backend_.setups[0].init_args, "[128]");
  // Parameters that a candidate makes itself differ from those.
  backend_.candidate.kernel = compute_workload;
  EXPECT_EQ(judge().value().outcome, task::Outcome::kWrongValue);
}

TEST_F(SessionTest, MemoryIsMadeAnewUnlessItIsFree) {
  ASSERT_TRUE(open(definition()));
  ASSERT_TRUE(start_baseline());
  ASSERT_TRUE(judge());
  const int made = backend_.memory.allocations;
  ASSERT_TRUE(judge(true));
  EXPECT_EQ(backend_.memory.allocations, made);
  ASSERT_TRUE(judge());
  EXPECT_GT(backend_.memory.allocations, made);
}

// A GPU's executor of plans, in which candidates follow each other.
class ResidentExecutor : public SessionTest {
 protected:
  void SetUp() override {
    for (testing::ExecutorScript* script : {&backend_.baseline, &backend_.candidate})
      script->device_clock = true;
    backend_.candidate.plan_call.emplace();
    backend_.candidate.next = &next_;
    ASSERT_TRUE(open(definition()));
    ASSERT_TRUE(start_baseline());
    ASSERT_EQ(judge().value().outcome, task::Outcome::kPassed);
  }
  testing::ExecutorScript script(std::function<void(const testing::ScriptedCall&)> kernel) const {
    testing::ExecutorScript out = backend_.candidate;
    out.kernel = std::move(kernel);
    return out;
  }
  std::vector<testing::ExecutorScript> next_;
};

TEST_F(ResidentExecutor, JudgesTheNextCandidateInTheSameMemoryCleared) {
  OpenRequest request = definition();
  request.options.disabled = {"canaries"};  // or the bytes that are left would be found
  ASSERT_TRUE(open(request));
  ASSERT_TRUE(start_baseline());
  constexpr std::byte kLeft{0x7E};
  bool found = false;
  backend_.candidate.kernel = [&](const testing::ScriptedCall& call) {
    compute_workload(call);
    call.outputs.bytes().back() = kLeft;
  };
  next_ = {script([&](const testing::ScriptedCall& call) {
    found = found || call.outputs.bytes().back() == kLeft;
    compute_workload(call);
  })};
  ASSERT_EQ(judge().value().outcome, task::Outcome::kPassed);
  const int made = backend_.memory.allocations;
  const std::size_t executors = backend_.setups.size();
  EXPECT_EQ(judge_resident().value().outcome, task::Outcome::kPassed);
  EXPECT_FALSE(found);
  EXPECT_EQ(backend_.memory.allocations, made);
  EXPECT_EQ(backend_.setups.size(), executors);
}

TEST_F(ResidentExecutor, AWrongCandidateLeavesItAndAFaultTakesIt) {
  next_ = {script([](const testing::ScriptedCall& call) { call.y()[0] = 1; }),
           script(compute_workload), script(compute_workload)};
  next_[1].on_launch = [](int, LaunchResult& result) { result.end = LaunchEnd::kFailed; };
  next_[1].end.failure = Failure::kKernelFault;
  EXPECT_EQ(judge_resident().value().outcome, task::Outcome::kWrongValue);
  EXPECT_EQ(judge_resident().value().outcome, task::Outcome::kRuntimeError);
  EXPECT_EQ(judge_resident().error().code(), ErrorCode::kInternal);
  EXPECT_EQ(judge().value().outcome, task::Outcome::kPassed);
}

TEST_F(ResidentExecutor, ATrialTimesCallsUnderTheLeaseAndChecksOne) {
  next_ = {script(compute_workload),
           script([](const testing::ScriptedCall& call) { call.y()[0] = 1; }),
           script(compute_workload)};
  int launches = 0;
  next_[0].on_launch = [&](int launch, LaunchResult& result) {
    ++launches;
    // The first may load code, and the shortest of the others counts; the last is checked.
    result.device_time = std::chrono::microseconds(launch == 0 ? 1 : 90 - launch);
    if (launch == 7) result.device_time = std::chrono::microseconds(2);
  };
  const int leases = lease_.taken;
  const Tried right = try_out_resident().value();
  EXPECT_EQ(right.outcome, task::Outcome::kPassed);
  EXPECT_EQ(right.call_ns, 84000);
  EXPECT_EQ(launches, 8);
  EXPECT_EQ(lease_.taken, leases + 1);
  EXPECT_EQ(lease_.taken, lease_.given_back);
  const Tried wrong = try_out_resident().value();
  EXPECT_EQ(wrong.outcome, task::Outcome::kWrongValue);
  EXPECT_GT(wrong.call_ns, 0);
  EXPECT_EQ(judge_resident().value().outcome, task::Outcome::kPassed);
}

TEST_F(ResidentExecutor, ATrialThatFaultsHasNoTimeAndTakesTheExecutor) {
  next_ = {script(compute_workload)};
  next_[0].on_launch = [](int, LaunchResult& result) { result.end = LaunchEnd::kFailed; };
  next_[0].end.failure = Failure::kKernelFault;
  const Tried tried = try_out_resident().value();
  EXPECT_EQ(tried.outcome, task::Outcome::kRuntimeError);
  EXPECT_EQ(tried.call_ns, 0);
  EXPECT_EQ(judge_resident().error().code(), ErrorCode::kInternal);
}

TEST_F(ResidentExecutor, EndsWithItsBaseline) {
  next_ = {script(compute_workload)};
  ASSERT_TRUE(start_baseline());
  EXPECT_EQ(judge_resident().error().code(), ErrorCode::kInternal);
}

TEST_F(ResidentExecutor, MeasuresEmptyLaunchesOnce) {
  next_ = {script(compute_workload), script(compute_workload)};
  next_[1].null_wall = std::chrono::seconds(1);  // would show in the judgement's calibration
  EXPECT_EQ(judge_resident().value().cost.calibrate_ms, 0);
  EXPECT_EQ(judge_resident().value().cost.calibrate_ms, 0);
}

TEST_F(ResidentExecutor, AFreshContextTakesTheEmptyLaunchesOfTheFirst) {
  backend_.candidate.null_wall = std::chrono::seconds(1);
  const WorkloadReport report = judge().value();
  EXPECT_EQ(report.cost.calibrate_ms, 0);
  EXPECT_LT(report.null_launch_ns, 1000000000);
}

TEST_F(SessionTest, EachCandidateOfACpuHasItsOwnEmptyLaunches) {
  ASSERT_TRUE(open(definition()));
  ASSERT_TRUE(start_baseline());
  ASSERT_TRUE(judge());
  backend_.candidate.null_wall = std::chrono::seconds(1);
  EXPECT_GT(judge().value().cost.calibrate_ms, 1000);
}

// An interpreter's candidate has no trials.
TEST_F(SessionTest, AModulesReportHasKernelBenchsRuleOnItsCalls) {
  make_oracle_ = module_oracle;
  ASSERT_TRUE(open(module()));
  ASSERT_TRUE(start_baseline());
  const WorkloadReport report = judge().value();
  ASSERT_TRUE(report.kernelbench);
  EXPECT_TRUE(report.kernelbench->compiled);
}

TEST_F(SessionTest, KernelBenchTrialsLeaveTheOraclesModuleAsItWas) {
  make_oracle_ = module_oracle;
  ASSERT_TRUE(open(module()));
  const std::vector<std::byte> before(backend_.oracle->static_tensor(0).begin(),
                                      backend_.oracle->static_tensor(0).end());
  const KernelBenchRequest request;
  ReceivedFds none;
  auto turn = TurnScope::begin(session_->turn());
  EXPECT_FALSE(session_->kernelbench(request, none).value().correctness);  // its own weights
  EXPECT_EQ(backend_.setups.back().param_seed, KernelBenchTrials::kParamSeed);
  EXPECT_EQ(backend_.setups.back().hand_over_state, false);
  EXPECT_TRUE(std::ranges::equal(before, backend_.oracle->static_tensor(0)));
}

}  // namespace
}  // namespace kw::gym
