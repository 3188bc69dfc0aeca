// The CPU's bench over sessions without a process: what runs as the reference, and whether
// KernelBench's own trials follow a verdict.
#include "gym/supervisor/cpu_bench.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using task::Outcome;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CpuBenchTest : public ::testing::Test {
 protected:
  void open() {
    auto opened = sessions_.open_on(bench_);
    ASSERT_TRUE(opened) << opened.error().message();
    session_ = std::move(*opened);
    program_ = session_->reference_program(Compilation::kNone).value();
  }
  // A module of the same interface as the definition.
  void open_module() {
    Opened answer = sessions_.opening({});
    task::Module module;
    module.source = "class Line: ...";
    module.entry_point = "Line";
    sessions_.problem.body = std::move(module);
    auto opened = sessions_.open_on(bench_, {}, std::move(answer));
    ASSERT_TRUE(opened) << opened.error().message();
    session_ = std::move(*opened);
    program_ = session_->reference_program(Compilation::kNone).value();
  }
  Status complete(WorkloadReport& report, const std::stop_token& stop = {}) {
    const EvalOptions options;
    return session_->complete(
        *program_, report,
        {options, true, [this](std::string_view stage) { stages_.emplace_back(stage); }, stop});
  }
  WorkloadReport completed(Outcome outcome) {
    WorkloadReport report;
    report.outcome = outcome;
    const Status done = complete(report);
    EXPECT_TRUE(done) << done.error().message();
    return report;
  }

  testing::FakeSessions sessions_;
  CandidateBuilder builder_{sessions_.roles.programs, *sessions_.roles.roles, sessions_.lease,
                            sessions_.roles.folder.path() / "builds"};
  CpuBench bench_{sessions_.context(), builder_};
  std::unique_ptr<BenchSession> session_;
  std::unique_ptr<Program> program_;
  std::vector<std::string> stages_;
};

TEST_F(CpuBenchTest, TheReferenceIsPythonThatReturnsAndMayBeCompiled) {
  open();
  const auto compiled = session_->reference_program(Compilation::kDefault).value();
  const Executable& reference = dynamic_cast<const HostProgram&>(*compiled).executable;
  EXPECT_TRUE(reference.python && reference.is_reference);
  EXPECT_EQ(reference.compilation, Compilation::kDefault);
  EXPECT_EQ(reference.entry, "run");
  EXPECT_EQ(reference.destination_passing, false);
  ASSERT_EQ(reference.files.size(), 1U);
  EXPECT_EQ(reference.files[0].content, sessions_.problem.definition().reference);
}

TEST_F(CpuBenchTest, ADefinitionHasNoTrialsOfKernelBench) {
  open();
  sessions_.end_checker();
  EXPECT_FALSE(completed(Outcome::kPassed).kernelbench);
  EXPECT_THAT(stages_, IsEmpty());
}

// We may reject what KernelBench accepts, so that its trials follow wrong values too.
TEST_F(CpuBenchTest, AModulesTrialsDecideItsKernelBenchVerdict) {
  open_module();
  const auto launched = sessions_.roles.launches.launches.size();
  for (const bool correct : {true, false}) {
    sessions_.answer(KernelBenchTried{correct});
    EXPECT_EQ(completed(Outcome::kWrongValue).kernelbench->correctness, correct);
    sessions_.request<KernelBenchRequest>();
  }
  EXPECT_THAT(stages_, ElementsAre("compat", "compat"));
  EXPECT_EQ(sessions_.roles.launches.launches.size(), launched + 2);  // an executor of its own each
}

TEST_F(CpuBenchTest, WhoWouldOnlyTakeTimeOrMemoryAgainIsNotTriedAndNotCorrect) {
  open_module();
  const auto launched = sessions_.roles.launches.launches.size();
  sessions_.end_checker();
  for (const Outcome outcome :
       {Outcome::kTimeout, Outcome::kMemoryLimit, Outcome::kOutputLimit, Outcome::kUnsupported}) {
    const WorkloadReport report = completed(outcome);
    ASSERT_TRUE(report.kernelbench);
    EXPECT_TRUE(report.kernelbench->compiled);
    EXPECT_FALSE(report.kernelbench->correctness);
  }
  EXPECT_THAT(stages_, IsEmpty());
  EXPECT_EQ(sessions_.roles.launches.launches.size(), launched);
}

TEST_F(CpuBenchTest, ACheckerThatDiesInTheTrialsIsAnErrorOfOurs) {
  open_module();
  sessions_.end_checker();
  WorkloadReport report;
  const Status done = complete(report);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(report.kernelbench);
}

}  // namespace
}  // namespace kw::gym
