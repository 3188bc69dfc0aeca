// The bench of Triton's interpreter over sessions without a process: which questions follow a first
// judgement, and what their answers change.
#include "gym/supervisor/interpret_bench.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/supervisor/testing/fake_session.h"

namespace kw::gym {
namespace {

using task::Library;
using task::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InterpretBenchTest : public ::testing::Test {
 protected:
  void open(Library library) {
    sessions_.problem.policy.library = library;
    auto opened = sessions_.open_on(bench_);
    ASSERT_TRUE(opened) << opened.error().message();
    session_ = std::move(*opened);
    before_ = launches();
  }
  // A candidate with one kernel, which was compiled.
  static HostProgram candidate(bool hides_values = false) {
    Executable executable;
    executable.python = true;
    executable.files = {{"candidate.py", "def run(x): return x\n"}};
    executable.entry_file = "candidate.py";
    executable.entry = "run";
    TritonKernel kernel;
    kernel.identity = kIdentity;
    kernel.name = "line";
    executable.triton.emplace();
    executable.triton->build.kernels = {kernel};
    executable.triton->hide_values = hides_values;
    return HostProgram(std::move(executable));
  }
  static WorkloadReport ended(Outcome outcome, double call_ms = 1) {
    WorkloadReport report;
    report.outcome = outcome;
    report.call_ms = call_ms;
    report.launches = {.kernel_count = 1, .kernels = {{kIdentity, 3, 12}}};
    return report;
  }
  void complete(HostProgram& program, WorkloadReport& report, bool is_first = true) {
    stages_.clear();
    const EvalOptions options;
    const Status done = session_->complete(
        program, report,
        {options, is_first, [this](std::string_view stage) { stages_.emplace_back(stage); }, {}});
    EXPECT_TRUE(done) << done.error().message();
  }
  // How the kernels of the next judgement that was asked for were interpreted.
  TritonSetup asked() {
    return sessions_.request<JudgeRequest>().candidate.setup.triton.value_or(TritonSetup());
  }
  std::size_t launches() const { return sessions_.roles.launches.launches.size(); }
  std::size_t judged() const { return launches() - before_; }
  static std::string risks(const WorkloadReport& report) {
    std::string out;
    for (const task::Diagnostic& diagnostic : report.diagnostics)
      if (diagnostic.kind == "risk") out += diagnostic.message;
    return out;
  }

  inline static const std::string kIdentity = std::string(64, 'a');
  testing::FakeSessions sessions_;
  CandidateBuilder builder_{sessions_.roles.programs, *sessions_.roles.roles, sessions_.lease,
                            sessions_.roles.folder.path() / "builds"};
  InterpretBench bench_{sessions_.context(), builder_};
  std::unique_ptr<BenchSession> session_;
  std::size_t before_ = 0;  // launches
  std::vector<std::string> stages_;
};

TEST_F(InterpretBenchTest, NothingIsTimedAndACallHasAMinuteUnlessTheOptionsSay) {
  EvalOptions options;
  EXPECT_FALSE(bench_.options_here(options).timing);
  EXPECT_EQ(bench_.options_here(options).timeout_seconds, 60);
  options.timeout_seconds = 5;
  EXPECT_EQ(bench_.options_here(options).timeout_seconds, 5);
  EXPECT_EQ(bench_.evidence_level(), task::EvidenceLevel::kInterpreted);
}

TEST_F(InterpretBenchTest, OutputsThatAreRightWithoutTheKernelsWritesAreAViolation) {
  open(Library::kKernelOnly);
  HostProgram program = candidate(true);
  WorkloadReport report = ended(Outcome::kPassed);
  sessions_.answer(ended(Outcome::kPassed, 10));
  sessions_.end_checker();
  complete(program, report);
  EXPECT_EQ(report.outcome, Outcome::kViolation);
  EXPECT_EQ(report.violation, "token_kernel");
  EXPECT_EQ(report.call_ms, 11);
  EXPECT_THAT(stages_, ElementsAre("kernels"));
  EXPECT_EQ(judged(), 1U);  // no risks are looked for
  const TritonSetup setup = asked();
  EXPECT_TRUE(setup.drop_stores && setup.hide_values);
  EXPECT_THAT(setup.compiled, ElementsAre(kIdentity));
}

TEST_F(InterpretBenchTest, WhereTheOutputsNeedTheKernelsTheCandidatePassesAndWritesAgain) {
  open(Library::kKernelOnly);
  HostProgram program = candidate(true);
  WorkloadReport report = ended(Outcome::kPassed);
  sessions_.answer(ended(Outcome::kWrongValue));
  complete(program, report);
  EXPECT_EQ(report.outcome, Outcome::kPassed);
  EXPECT_FALSE(program.executable.triton->drop_stores);
  EXPECT_EQ(risks(report), "");
}

// Host code that sees no values computes nothing: once is enough to see that of the rest.
TEST_F(InterpretBenchTest, TheQuestionIsAskedOnceWhereValuesAreHiddenAndEachTimeElsewhere) {
  open(Library::kKernelOnly);
  HostProgram hiding = candidate(true);
  WorkloadReport report = ended(Outcome::kPassed);
  sessions_.end_checker();
  complete(hiding, report, false);
  EXPECT_EQ(judged(), 0U);
  open(Library::kLibrariesAllowed);
  HostProgram seeing = candidate();
  sessions_.answer(ended(Outcome::kWrongValue));
  complete(seeing, report, false);
  EXPECT_EQ(judged(), 1U);
  EXPECT_TRUE(asked().drop_stores);
  EXPECT_EQ(report.outcome, Outcome::kPassed);
}

TEST_F(InterpretBenchTest, WhereAnythingIsAllowedNobodyAsksWhoseWorkItIs) {
  open(Library::kAnything);
  HostProgram program = candidate();
  WorkloadReport report = ended(Outcome::kPassed);
  report.launches = LaunchReport();  // no kernel at all
  sessions_.end_checker();
  complete(program, report);
  EXPECT_EQ(report.outcome, Outcome::kPassed);
  EXPECT_EQ(judged(), 0U);
}

TEST_F(InterpretBenchTest, AFailureKeepsItsOutcomeAndIsAskedNothing) {
  open(Library::kKernelOnly);
  HostProgram program = candidate(true);
  WorkloadReport report = ended(Outcome::kWrongValue);
  report.launches->masked_lanes = true;
  report.launches->configurations = 4;
  sessions_.end_checker();
  complete(program, report);
  EXPECT_EQ(report.outcome, Outcome::kWrongValue);
  EXPECT_EQ(judged(), 0U);
  EXPECT_THAT(stages_, IsEmpty());
}

TEST_F(InterpretBenchTest, APolicyThatIsBrokenIsAskedNothingMore) {
  open(Library::kKernelOnly);
  HostProgram program = candidate(true);
  WorkloadReport report = ended(Outcome::kPassed);
  report.launches->kernel_count = 0;
  sessions_.end_checker();
  complete(program, report);
  EXPECT_EQ(report.violation, "ghost_kernel");
  EXPECT_EQ(judged(), 0U);
}

TEST_F(InterpretBenchTest, MaskedLanesThatMustBeZeroAreARiskAndNoFault) {
  open(Library::kAnything);
  for (const bool needs_zeros : {true, false}) {
    HostProgram program = candidate();
    WorkloadReport report = ended(Outcome::kPassed);
    report.launches->masked_lanes = true;
    sessions_.answer(ended(needs_zeros ? Outcome::kWrongValue : Outcome::kPassed));
    complete(program, report);
    EXPECT_EQ(report.outcome, Outcome::kPassed);
    EXPECT_EQ(risks(report).find("rely on zeros") != std::string::npos, needs_zeros);
    EXPECT_TRUE(asked().poison_masked);
    EXPECT_FALSE(program.executable.triton->poison_masked);
  }
}

TEST_F(InterpretBenchTest, AnAutotunersOtherConfigurationsAreTriedAndTheWrongOnesCounted) {
  open(Library::kAnything);
  HostProgram program = candidate();
  WorkloadReport report = ended(Outcome::kPassed);
  report.launches->configurations = 4;
  sessions_.answer(ended(Outcome::kPassed, 20));
  sessions_.answer(ended(Outcome::kPassed, 5));
  sessions_.answer(ended(Outcome::kWrongValue, 30));
  sessions_.end_checker();
  complete(program, report);
  EXPECT_EQ(report.outcome, Outcome::kPassed);
  EXPECT_THAT(risks(report), HasSubstr("1 of 3 other configurations tried are wrong"));
  EXPECT_EQ(report.call_ms, 56);
  for (const std::uint64_t configuration : {1U, 2U, 3U})
    EXPECT_EQ(asked().configuration, configuration);
  // This is checked for the first workload only.
  report = ended(Outcome::kPassed);
  report.launches->configurations = 4;
  complete(program, report, false);
  EXPECT_EQ(judged(), 3U);
}

TEST_F(InterpretBenchTest, AfterTwentySecondsOfCallsNoMoreConfigurationsAreTried) {
  open(Library::kAnything);
  HostProgram program = candidate();
  WorkloadReport report = ended(Outcome::kPassed, 15'000);
  report.launches->configurations = 5;
  sessions_.answer(ended(Outcome::kWrongValue, 6'000));
  sessions_.end_checker();
  complete(program, report);
  EXPECT_EQ(judged(), 1U);
  EXPECT_THAT(risks(report), HasSubstr("1 of 1 other configurations tried are wrong"));
}

TEST_F(InterpretBenchTest, ACandidateWithoutTritonIsAskedNothing) {
  open(Library::kKernelOnly);
  auto program = session_->reference_program(Compilation::kNone).value();
  WorkloadReport report;
  sessions_.end_checker();
  complete(dynamic_cast<HostProgram&>(*program), report);
  EXPECT_EQ(report.outcome, Outcome::kPassed);
  EXPECT_EQ(judged(), 0U);
}

TEST_F(InterpretBenchTest, ACheckerThatDiesInAQuestionIsAnErrorOfOurs) {
  open(Library::kKernelOnly);
  HostProgram program = candidate(true);
  WorkloadReport report = ended(Outcome::kPassed);
  sessions_.end_checker();
  const EvalOptions options;
  const Status done =
      session_->complete(program, report, {options, true, [](std::string_view) {}, {}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace kw::gym
