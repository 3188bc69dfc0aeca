// The GPU's bench over sessions without a process: which programs run there, whose context a
// candidate gets, and which report counts.
#include "gym/supervisor/cuda_bench.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "gym/cuda/plan_file.h"
#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using task::GpuContext;
using task::Outcome;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;

class CudaBenchTest : public ::testing::Test {
 protected:
  CudaBenchTest() { sessions_.device = 0; }

  void open() {
    bench_ = std::make_unique<CudaBench>(sessions_.context(), builder_, plans_, 90);
    auto opened = sessions_.open_on(*bench_);
    ASSERT_TRUE(opened) << opened.error().message();
    session_ = std::move(*opened);
  }
  void start_baseline() {
    const auto reference = session_->reference_program(Compilation::kNone).value();
    ASSERT_TRUE(session_->start_baseline(*reference, PairMemory::kDrawn));
    sessions_.answer(BaselineStarted{"", 1'000'000});
    sessions_.request<BaselineRequest>();
  }
  // A plan with one kernel, as its file says it.
  static HostProgram plan() {
    PlanContents contents;
    contents.modules = {"machine code"};
    contents.plan.modules = {
        {task::ModuleKind::kCubin, {"main", sha256_hex(contents.modules[0]), 12}}};
    task::PlanFill fill;
    fill.memory = {task::MemoryKind::kOutput, 0};
    fill.bytes = task::LaunchExpression::parse("4").value();
    contents.plan.steps.emplace_back(fill);
    Executable executable;
    executable.plan = os::make_sealed_file("plan", write_plan_file(contents).value()).value();
    return HostProgram(std::move(executable));
  }
  static WorkloadReport ended(Outcome outcome, double call_ms = 1) {
    WorkloadReport report;
    report.outcome = outcome;
    report.call_ms = call_ms;
    return report;
  }
  static WorkloadReport faster() {
    WorkloadReport report = ended(Outcome::kPassed);
    report.candidate_ns.assign(20, 100);
    report.reference_ns.assign(20, 200);
    return report;
  }
  // The checker answers so, one judgement after the other.
  Result<WorkloadReport> judge(const std::vector<WorkloadReport>& answers,
                               const std::string& gpu_context = "confirm") {
    for (const WorkloadReport& answer : answers) sessions_.answer(answer);
    EvalOptions options;
    options.gpu_context = gpu_context;
    const std::size_t before = launched();
    auto report = session_->judge(program_, options, 0, {});
    executors_ = launched() - before;
    return report;
  }
  std::size_t launched() const { return sessions_.roles.launches.launches.size(); }
  const sandbox::FakeLaunch& last() const { return *sessions_.roles.launches.launches.back(); }
  Status complete(Program& program, WorkloadReport& report) {
    const EvalOptions options;
    return session_->complete(program, report, {options, true, [](std::string_view) {}, {}});
  }

  testing::FakeSessions sessions_;
  CandidateBuilder builder_{sessions_.roles.programs, *sessions_.roles.roles, sessions_.lease,
                            sessions_.roles.folder.path() / "builds"};
  DeviceBuilder plans_{*sessions_.roles.roles,
                       sessions_.lease,
                       CudaToolchain{"/opt/libnvrtc.so.13", "", "", "", "tools"},
                       {"sm_90a", sessions_.roles.folder.path() / "plans", 0}};
  std::unique_ptr<CudaBench> bench_;
  std::unique_ptr<BenchSession> session_;
  HostProgram program_ = plan();
  std::size_t executors_ = 0;  // that the last judge() started
};

TEST_F(CudaBenchTest, PythonIsABaselineAndNoCandidate) {
  open();
  task::Candidate python;
  python.language = task::Language::kPython;
  python.entry_file = "best.py";
  python.sources = {{"best.py", "def run(x): return x\n"}};
  const auto baseline = session_->build(python, BuildFor::kBaseline);
  ASSERT_TRUE(baseline) << baseline.error().message();
  EXPECT_NE(baseline->program, nullptr);
  const auto candidate = session_->build(python, BuildFor::kCandidate);
  ASSERT_TRUE(candidate) << candidate.error().message();
  EXPECT_EQ(candidate->program, nullptr);
  EXPECT_THAT(candidate->mistake, HasSubstr("no language of device code"));
}

TEST_F(CudaBenchTest, AMistakeOfTheSourceIsTheCandidatesAndAMissingCompilerIsNot) {
  open();
  task::Candidate cuda;
  cuda.language = task::Language::kCuda;
  cuda.entry_file = "k.cu";
  cuda.sources = {{"k.cu", "extern \"C\" __global__ void k() {}"}};
  const auto build = session_->build(cuda, BuildFor::kCandidate);
  ASSERT_TRUE(build) << build.error().message();
  EXPECT_EQ(build->program, nullptr);
  EXPECT_THAT(build->mistake, HasSubstr("no launch"));
  cuda.language = task::Language::kPtx;
  cuda.entry_file = "k.ptx";
  cuda.sources = {{"k.ptx", "// launch: {}"}};
  EXPECT_EQ(session_->build(cuda, BuildFor::kCandidate).error().code(), ErrorCode::kUnsupported);
}

TEST_F(CudaBenchTest, AReferenceUnderTorchCompileMayStartPrograms) {
  open();
  const auto tuned = session_->reference_program(Compilation::kMaxAutotune).value();
  ASSERT_TRUE(session_->start_baseline(*tuned, PairMemory::kDrawn));
  EXPECT_EQ(last().spec.role, "gpu_executor");
  EXPECT_EQ(last().where, sandbox::Where::kZygote);
  EXPECT_EQ(last().spec.limits.processes, 256U);
  EXPECT_THAT(last().spec.environment, Contains(Key("PATH")));
  EXPECT_EQ(sessions_.request<BaselineRequest>().baseline.setup.compilation,
            Compilation::kMaxAutotune);
}

// A process's age does not show in the time between events on its stream.
TEST_F(CudaBenchTest, ABaselineServesManyCandidates) {
  open();
  EXPECT_FALSE(session_->has_baseline(true));
  start_baseline();
  ASSERT_TRUE(judge({ended(Outcome::kPassed)}));
  EXPECT_TRUE(session_->has_baseline(true));
}

TEST_F(CudaBenchTest, AFailureInAContextThatOthersUsedIsJudgedAgainInOneOfItsOwn) {
  open();
  start_baseline();
  EXPECT_EQ(judge({ended(Outcome::kPassed)})->gpu->context, GpuContext::kFresh);
  EXPECT_EQ(judge({ended(Outcome::kPassed)})->gpu->context, GpuContext::kResident);
  EXPECT_EQ(executors_, 0U);
  // The second report counts, with the time of both.
  WorkloadReport first = ended(Outcome::kRuntimeError, 5);
  first.cost.time_ms = 7;
  const auto report = judge({first, ended(Outcome::kPassed, 20)});
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->outcome, Outcome::kPassed);
  EXPECT_EQ(report->gpu->context, GpuContext::kFresh);
  EXPECT_EQ(report->call_ms, 25);
  EXPECT_EQ(report->cost.time_ms, 7);
  EXPECT_EQ(executors_, 1U);
}

TEST_F(CudaBenchTest, WhoIsFasterInAUsedContextIsConfirmedUnlessTheOptionsSay) {
  open();
  start_baseline();
  ASSERT_TRUE(judge({ended(Outcome::kPassed)}));
  EXPECT_EQ(judge({faster()}, "resident")->gpu->context, GpuContext::kResident);
  // Not so fast after all.
  const auto confirmed = judge({faster(), ended(Outcome::kPassed)});
  ASSERT_TRUE(confirmed) << confirmed.error().message();
  EXPECT_THAT(confirmed->candidate_ns, IsEmpty());
  EXPECT_EQ(executors_, 1U);
  EXPECT_EQ(judge({faster()}, "fresh")->gpu->context, GpuContext::kFresh);
  EXPECT_EQ(executors_, 1U);
}

TEST_F(CudaBenchTest, ACheckerThatDiesIsAnErrorOfOurs) {
  open();
  start_baseline();
  ASSERT_TRUE(judge({ended(Outcome::kPassed)}));
  sessions_.end_checker();
  const auto report = judge({});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(report.error().message(), HasSubstr("the checker"));
}

TEST_F(CudaBenchTest, OnlyAReportWithACallNeedsThePlan) {
  open();
  Executable damaged;
  damaged.plan = os::make_sealed_file("plan", "KWPLAN1").value();
  HostProgram program{std::move(damaged)};
  WorkloadReport report = ended(Outcome::kPassed);
  EXPECT_TRUE(complete(program, report));
  report.gpu.emplace();
  EXPECT_TRUE(complete(program, report));
  report.gpu->call.emplace();
  EXPECT_FALSE(complete(program, report));
  EXPECT_TRUE(complete(program_, report));
}

TEST_F(CudaBenchTest, AFileOfCudaHasNoAutotuners) {
  open();
  EXPECT_FALSE(session_->wants_tuning(program_));
}

// A plan needs nothing but the GPU.
TEST_F(CudaBenchTest, NoLibraryIsMissing) {
  open();
  task::Candidate candidate;
  candidate.language = task::Language::kTriton;
  EXPECT_FALSE(bench_->lacks(candidate, "ModuleNotFoundError: No module named 'flash_attn'"));
}

TEST(Confirmation, IsForFailuresAndForTheFasterInAUsedContext) {
  EvalOptions options;
  WorkloadReport report;
  report.candidate_ns.assign(20, 100);
  report.reference_ns.assign(20, 200);
  EXPECT_FALSE(wants_confirmation(report, options));  // on no GPU
  report.gpu.emplace();
  EXPECT_FALSE(wants_confirmation(report, options));
  report.gpu->context = task::GpuContext::kResident;
  EXPECT_TRUE(wants_confirmation(report, options));
  options.gpu_context = "resident";
  EXPECT_FALSE(wants_confirmation(report, options));
  options.gpu_context = "confirm";
  report.reference_ns.assign(20, 100);
  EXPECT_FALSE(wants_confirmation(report, options));  // not faster
  report.outcome = task::Outcome::kWrongValue;
  EXPECT_FALSE(wants_confirmation(report, options));
  for (auto outcome : {task::Outcome::kRuntimeError, task::Outcome::kTimeout,
                       task::Outcome::kMemoryLimit, task::Outcome::kViolation}) {
    report.outcome = outcome;
    EXPECT_TRUE(wants_confirmation(report, options)) << to_string(outcome);
  }
}

}  // namespace
}  // namespace kw::gym
