// The whole evaluation without a process, on a bench that stands for a GPU.
#include "gym/evaluation/evaluation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/evaluation/testing/fake_cuda_bench.h"
#include "gym/evidence.h"
#include "os/file.h"
#include "task/definition_json.h"
#include "task/workload_json.h"

namespace kw::gym {
namespace {

using task::Outcome;
using testing::compute_workload;
using ::testing::ElementsAre;
using testing::ExecutorScript;
using testing::FakeCudaBench;
using testing::FakeGpu;
using testing::FakeWorkload;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScriptedCall;

ExecutorScript right() {
  ExecutorScript script;
  script.kernel = compute_workload;
  return script;
}

// From launch `first` on the results are wrong.
ExecutorScript wrong(int first = 0) {
  ExecutorScript script;
  script.kernel = [first](const ScriptedCall& call) {
    compute_workload(call);
    if (call.launch >= first) call.y()[17] += 0.5F;
  };
  return script;
}

// Every other launch is disturbed in the judgements with these numbers, from 1.
ExecutorScript noisy_in(const std::set<int>& judgements) {
  ExecutorScript script = right();
  script.on_launch = [=, count = std::make_shared<int>(0)](int launch, LaunchResult& result) {
    if (launch == 0) ++*count;
    if (launch % 2 == 1 && judgements.contains(*count)) result.page_faults = 1000;
  };
  return script;
}

class EvaluationTest : public ::testing::Test {
 protected:
  EvaluationTest() {
    request.problem.name = "line";
    request.problem.body = *task::definition_from_json(
        *parse_json(R"({"name": "line", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
          "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
          "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
          "reference": "def run(x):\n    return 3 * x + 1\n"})"),
        "");
    add_workload("timed", true);
    request.options.target = task::Target::kCuda;
    request.options.store_evidence = false;
  }

  void add_workload(const std::string& uuid, bool timed) {
    request.problem.workloads.push_back(*task::workload_from_json(
        *parse_json(R"({"uuid": ")" + uuid +
                    R"(", "axes": {"N": 256}, "inputs": {"x": {"type": "random"}}})"),
        ""));
    request.problem.policy.workloads[uuid].targets = {task::Target::kCuda};
    request.problem.policy.workloads[uuid].timed = timed;
  }

  Result<task::Verdict> judge(const std::string& source, ExecutorScript script) {
    gpu.kernels[source] = std::move(script);
    return judge(source);
  }
  Result<task::Verdict> judge(const std::string& source) {
    task::Candidate candidate;
    candidate.name = source;
    candidate.language = task::Language::kCuda;
    candidate.sources = {{"kernel.cu", source}};
    candidate.hash = candidate_hash(candidate);
    request.candidate = std::move(candidate);
    request.problem.hash = task::problem_hash(request.problem);
    return evaluate(
        {bench, admissions, sessions, folder.path() / "evidence",
         [this](const EvalRequest&, std::string_view stage) { stages.emplace_back(stage); }},
        request, stop.get_token());
  }
  Outcome outcome(const std::string& source, ExecutorScript script) {
    const auto verdict = judge(source, std::move(script));
    EXPECT_TRUE(verdict) << verdict.error().message();
    return verdict ? verdict->outcome : Outcome::kUnsupported;
  }

  // One workload, which ended so, says why, and has no time.
  static void expect_failure(const Result<task::Verdict>& verdict, Outcome outcome,
                             const std::string& kind, const std::string& says) {
    ASSERT_TRUE(verdict) << verdict.error().message();
    EXPECT_EQ(verdict->outcome, outcome);
    EXPECT_FALSE(verdict->speedup);
    EXPECT_FALSE(verdict->times);
    EXPECT_EQ(verdict->evidence_level, task::EvidenceLevel::kUntimed);
    ASSERT_EQ(verdict->workloads.size(), 1U);
    const task::WorkloadVerdict& workload = verdict->workloads[0];
    EXPECT_EQ(workload.uuid, "timed");
    EXPECT_EQ(workload.outcome, outcome);
    EXPECT_FALSE(workload.times);
    ASSERT_FALSE(workload.diagnostics.empty());
    EXPECT_EQ(workload.diagnostics[0].kind, kind);
    EXPECT_THAT(workload.diagnostics[0].message, HasSubstr(says));
  }

  os::TempDir folder = os::TempDir::make("kw-evaluation-").value();
  EvalRequest request;
  FakeGpu gpu;
  FakeCudaBench bench{gpu};
  AdmissionCache admissions{folder.path() / "admission"};
  SessionPool sessions{1000};
  std::stop_source stop;
  std::vector<std::string> stages;
};

TEST_F(EvaluationTest, ARightKernelPassesWithItsSpeedup) {
  const auto verdict = judge("right", right());
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->outcome, Outcome::kPassed);
  ASSERT_TRUE(verdict->speedup);
  EXPECT_NEAR(verdict->speedup->median, 2, 1e-9);  // 2 ms against 1 ms on the scripted clock
  EXPECT_EQ(verdict->target, task::Target::kCuda);
  EXPECT_THAT(stages, ElementsAre("admission", "baseline", "compile", "judge", "coverage"));
  ASSERT_EQ(verdict->workloads.size(), 1U);
  const task::WorkloadVerdict& workload = verdict->workloads[0];
  EXPECT_EQ(workload.uuid, "timed");
  EXPECT_EQ(workload.outcome, Outcome::kPassed);
  EXPECT_THAT(workload.diagnostics, IsEmpty());
  ASSERT_TRUE(workload.times);
  EXPECT_NEAR(workload.times->candidate_ms, 1, 1e-9);
  EXPECT_NEAR(workload.times->reference_ms, 2, 1e-9);
  ASSERT_EQ(workload.errors.size(), 1U);
  EXPECT_LE(workload.errors[0].max_of_budget, 1);
  EXPECT_GT(workload.errors[0].checked_calls, 0);
  EXPECT_EQ(verdict->evidence_level, task::EvidenceLevel::kTimed);
}

TEST_F(EvaluationTest, AWrongKernelIsWrongAlsoInItsLastLaunches) {
  for (const auto& [source, first] : {std::pair{"wrong", 0}, std::pair{"wrong later", 7}}) {
    const auto verdict = judge(source, wrong(first));
    expect_failure(verdict, Outcome::kWrongValue, "mismatch", "output y: ");
    const task::WorkloadVerdict& workload = verdict->workloads.at(0);
    EXPECT_GT(workload.errors.at(0).max_of_budget, 1);
    EXPECT_NEAR(workload.errors[0].max_absolute, 0.5, 1e-3);
  }
}

TEST_F(EvaluationTest, ACallThatTakesTooLongIsATimeout) {
  ExecutorScript slow = right();
  slow.wall = std::chrono::milliseconds(2001);  // 2 s are the least limit of a call
  auto verdict = judge("slow", slow);
  expect_failure(verdict, Outcome::kTimeout, "hint", "no answer in time during a call");
  EXPECT_EQ(verdict->flashinfer.status, "TIMEOUT");
  request.options.timeout_seconds = 3;
  verdict = judge("slow", slow);
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->outcome, Outcome::kPassed);
  EXPECT_NEAR(verdict->times->candidate_ms, 2001, 1e-6);
  // An executor that says nothing at all, and only in a later call.
  ExecutorScript hangs = right();
  hangs.on_launch = [](int launch, LaunchResult& result) {
    if (launch == 5) result.end = LaunchEnd::kTimeout;
  };
  expect_failure(judge("hangs", hangs), Outcome::kTimeout, "hint", "no answer in time");
}

TEST_F(EvaluationTest, AWriteThatIsNotAllowedIsAViolationByItsClass) {
  ExecutorScript writes = right();
  writes.kernel = [](const ScriptedCall& call) {
    compute_workload(call);
    call.x()[3] = 7;
  };
  auto verdict = judge("writes its input", writes);
  expect_failure(verdict, Outcome::kViolation, "hint", "an input changed during a call");
  EXPECT_EQ(verdict->violation, "input_write");
  EXPECT_EQ(verdict->workloads.at(0).violation, "input_write");
  writes.kernel = [](const ScriptedCall& call) {
    compute_workload(call);
    const Layout& layout = call.outputs.layout();
    call.outputs.bytes()[layout.offset(0) + layout.bytes(0)] ^= std::byte{1};
  };
  verdict = judge("writes too far", writes);
  expect_failure(verdict, Outcome::kViolation, "hint", "outside its output buffers");
  EXPECT_EQ(verdict->violation, "out_of_bounds");
}

TEST_F(EvaluationTest, ASourceThatDoesNotCompileIsACompileError) {
  const auto verdict = judge("nothing");
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->outcome, Outcome::kCompileError);
  ASSERT_FALSE(verdict->diagnostics.empty());
  EXPECT_THAT(verdict->diagnostics[0].message, HasSubstr("there is no kernel nothing"));
  EXPECT_EQ(gpu.judged, 0);
}

TEST_F(EvaluationTest, AutotunersChooseByTimeBeforeAWorkloadIsJudged) {
  add_workload("checked", false);
  gpu.tuned["tuned"] = wrong();
  EXPECT_EQ(judge("tuned", right())->outcome, Outcome::kWrongValue);
  EXPECT_EQ(gpu.tunings, 1);  // of the untimed workload, which is the first
  gpu.tuned["tuned"] = right();
  EXPECT_EQ(judge("tuned", wrong())->outcome, Outcome::kPassed);
  EXPECT_EQ(gpu.tunings, 3);
  request.options.timing = false;
  EXPECT_EQ(judge("tuned", wrong())->outcome, Outcome::kWrongValue);
  EXPECT_EQ(gpu.tunings, 3);
}

TEST_F(EvaluationTest, ABaselinesAutotunersChooseByTimeToo) {
  task::Candidate baseline;
  baseline.name = "tuned";
  baseline.language = task::Language::kCuda;
  baseline.entry_file = "best.cu";
  baseline.sources = {{"best.cu", "tuned"}};
  baseline.hash = task::candidate_hash(baseline);
  gpu.kernels["tuned"] = right();
  gpu.kernels["tuned"].wall = std::chrono::milliseconds(8);
  gpu.tuned["tuned"] = right();
  gpu.tuned["tuned"].wall = std::chrono::milliseconds(2);
  request.options.baseline = baseline;
  ExecutorScript candidate = right();
  candidate.wall = std::chrono::milliseconds(2);
  const auto verdict = judge("candidate", candidate);
  ASSERT_TRUE(verdict) << verdict.error().message();
  ASSERT_TRUE(verdict->speedup);
  EXPECT_NEAR(verdict->speedup->median, 1, 0.05);
  EXPECT_EQ(gpu.tunings, 1);
}

TEST_F(EvaluationTest, ABuildThatNobodyCanMakeIsUnsupported) {
  gpu.refused["odd"] = "aten.sum computes outside of kernels";
  const auto verdict = judge("odd");
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::kUnsupported);
  ASSERT_FALSE(verdict->diagnostics.empty());
  EXPECT_THAT(verdict->diagnostics[0].message, HasSubstr("aten.sum"));
}

TEST_F(EvaluationTest, NoiseIsMeasuredOnceMore) {
  auto verdict = judge("noisy once", noisy_in({1}));
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->outcome, Outcome::kPassed);
  EXPECT_NEAR(verdict->speedup->median, 2, 1e-9);
  EXPECT_EQ(gpu.judged, 2);
  expect_failure(judge("noisy twice", noisy_in({1, 2})), Outcome::kNoisy, "hint", "page faults");
  EXPECT_EQ(gpu.judged, 4);
}

TEST_F(EvaluationTest, NoiseInTheSecondPairOfProcessesMeasuresAllOfThemAgain) {
  request.options.process_pairs = 2;
  EXPECT_EQ(outcome("noisy second", noisy_in({2})), Outcome::kPassed);
  EXPECT_EQ(gpu.judged, 4);
  expect_failure(judge("always noisy", noisy_in({1, 2, 3, 4})), Outcome::kNoisy, "hint",
                 "page faults");
  EXPECT_EQ(gpu.judged, 8);
}

// 1 ms against 2 ms, of which a tuned one takes 1.6 and a compiled one as much as the baseline.
TEST_F(EvaluationTest, AWinnerIsComparedWithTheStrongestForm) {
  gpu.reference_takes[Compilation::kMaxAutotune] = std::chrono::microseconds(1600);
  request.options.rivals = {"eager", "compile", "max-autotune"};
  auto verdict = judge("right", right());
  ASSERT_TRUE(verdict) << verdict.error().message();
  ASSERT_TRUE(verdict->strongest);
  EXPECT_EQ(verdict->strongest->baseline, "max-autotune");
  EXPECT_NEAR(verdict->strongest->speedup.median, 1.6, 1e-9);
  EXPECT_NEAR(verdict->speedup->median, 2, 1e-9);  // the headline stays
  ASSERT_EQ(verdict->workloads[0].rivals.size(), 2U);
  EXPECT_NEAR(verdict->workloads[0].rivals[1].over_baseline->median, 1.25, 1e-9);
  EXPECT_EQ(gpu.judged, 3);
  // Each rival is measured once a workload.
  EXPECT_TRUE(judge("right")->strongest);
  EXPECT_EQ(gpu.judged, 4);
  // A candidate that is not faster than the baseline needs no stronger one.
  ExecutorScript slow = right();
  slow.wall = std::chrono::milliseconds(3);
  EXPECT_FALSE(judge("slow", slow)->strongest);
  EXPECT_EQ(gpu.judged, 5);
}

TEST_F(EvaluationTest, ARivalThatFailsSaysSoAndTheOthersCount) {
  gpu.reference_computes = [](const ScriptedCall& call) { call.y()[0] = 7; };
  request.options.rivals = {"compile"};
  const auto verdict = judge("right", right());
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->outcome, Outcome::kPassed);
  ASSERT_EQ(verdict->workloads[0].rivals.size(), 1U);
  EXPECT_FALSE(verdict->workloads[0].rivals[0].over_baseline);
  EXPECT_THAT(verdict->workloads[0].rivals[0].failure, HasSubstr("wrong_value"));
  ASSERT_TRUE(verdict->strongest);
  EXPECT_EQ(verdict->strongest->baseline, "eager");
  EXPECT_NEAR(verdict->strongest->speedup.median, 2, 1e-9);
}

// A data set may name its workloads as the gym names hidden shapes.
TEST_F(EvaluationTest, NoNameOfAWorkloadSavesItFromAdmission) {
  request.problem.workloads.clear();
  request.problem.policy.workloads.clear();
  add_workload("hidden N=256", true);
  gpu.findings.passing = {"zeros"};
  EXPECT_EQ(judge("right", right())->outcome, Outcome::kQuarantined);
}

TEST_F(EvaluationTest, EveryPairHasAYoungBaseline) {
  request.options.process_pairs = 4;
  EXPECT_EQ(outcome("right", right()), Outcome::kPassed);
  EXPECT_EQ(gpu.judged, 4);
  EXPECT_EQ(gpu.baselines, 4);
  EXPECT_EQ(gpu.last_pair, 3);
  // A wrong one is not measured further.
  EXPECT_EQ(outcome("wrong", wrong()), Outcome::kWrongValue);
  EXPECT_EQ(gpu.judged, 5);
  EXPECT_EQ(gpu.last_pair, 0);
}

TEST_F(EvaluationTest, UntimedWorkloadsComeFirstAndAFaultEndsTheRest) {
  add_workload("checked", false);
  auto verdict = judge("right", right());
  ASSERT_TRUE(verdict);
  ASSERT_EQ(verdict->workloads.size(), 2);
  EXPECT_EQ(verdict->workloads[0].uuid, "checked");
  EXPECT_EQ(verdict->workloads[1].uuid, "timed");
  verdict = judge("wrong", wrong());
  ASSERT_TRUE(verdict);
  ASSERT_EQ(verdict->workloads.size(), 1);
  EXPECT_EQ(verdict->workloads[0].uuid, "checked");
}

TEST_F(EvaluationTest, APoorProblemIsQuarantinedAndRemembered) {
  gpu.findings.passing = {"zeros"};
  const auto verdict = judge("right", right());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::kQuarantined);
  EXPECT_EQ(gpu.judged, 0);
  gpu.findings.passing.clear();
  EXPECT_EQ(outcome("right", right()), Outcome::kQuarantined);  // stored with the problem's hash
  EXPECT_EQ(gpu.opened, 1);
}

TEST_F(EvaluationTest, OurFailuresAreErrorsAndNoVerdicts) {
  gpu.broken_builds["cut"] = ErrorCode::kUnavailable;
  EXPECT_EQ(judge("cut").error().code(), ErrorCode::kUnavailable);
  gpu.before_judge = [](FakeWorkload& workload) { workload.oracle.die(); };
  const auto without_oracle = judge("slightly off", wrong());
  ASSERT_FALSE(without_oracle);
  EXPECT_THAT(without_oracle.error().message(), HasSubstr("reference"));
  gpu.before_judge = [](FakeWorkload& workload) {
    ExecutorScript leaves;
    leaves.on_launch = [](int launch, LaunchResult& result) {
      if (launch == 6) result.end = LaunchEnd::kExited;
    };
    workload.start_baseline(leaves);
  };
  const auto without_baseline = judge("right", right());
  ASSERT_FALSE(without_baseline);
  EXPECT_THAT(without_baseline.error().message(), HasSubstr("the baseline failed"));
}

TEST_F(EvaluationTest, ABrokenSessionIsNotKept) {
  EXPECT_EQ(outcome("right", right()), Outcome::kPassed);
  EXPECT_EQ(outcome("right again", right()), Outcome::kPassed);
  EXPECT_EQ(gpu.opened, 1);
  stop.request_stop();
  EXPECT_EQ(judge("stopped", right()).error().code(), ErrorCode::kCancelled);
  stop = {};
  EXPECT_EQ(outcome("right", right()), Outcome::kPassed);
  EXPECT_EQ(gpu.opened, 2);
}

TEST_F(EvaluationTest, SessionsDependOnWhatDecidesAVerdict) {
  outcome("right", right());
  EXPECT_TRUE(sessions.contains(first_session_key(bench, request)));
  request.options.store_evidence = true;
  outcome("right", right());
  EXPECT_EQ(gpu.opened, 1);
  request.options.half_width_percent = 5;
  request.options.max_seconds = 5;
  outcome("right", right());
  EXPECT_EQ(gpu.opened, 1);
  request.options.threads = 2;
  EXPECT_FALSE(sessions.contains(first_session_key(bench, request)));
  outcome("right", right());
  EXPECT_EQ(gpu.opened, 2);
}

TEST_F(EvaluationTest, ABaselineCandidateIsBuiltAndMayNotBuild) {
  task::Candidate best;
  best.name = "best known";
  best.language = task::Language::kCuda;
  best.entry_file = "best.cu";
  best.sources = {{"best.cu", "best"}};
  best.hash = task::candidate_hash(best);
  request.options.baseline = best;
  EXPECT_EQ(judge("right", right()).error().message(),
            "the baseline best known does not build: there is no kernel best");
  gpu.kernels["best"] = right();
  const auto verdict = judge("right", right());
  ASSERT_TRUE(verdict) << verdict.error().message();
  ASSERT_TRUE(verdict->speedup);
  EXPECT_NEAR(verdict->speedup->median, 1, 1e-9);
  EXPECT_EQ(verdict->baseline, "best known");
}

TEST_F(EvaluationTest, PreciseNeedsAQuietMachine) {
  request.options.precise = true;
  outcome("right", right());
  EXPECT_EQ(gpu.quiet, 1);
}

TEST_F(EvaluationTest, EvidenceGivesTheVerdictAgain) {
  request.options.store_evidence = true;
  const auto verdict = judge("right", right());
  ASSERT_TRUE(verdict);
  const auto again = verdict_from_evidence(load_evidence(verdict->evidence).value());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->speedup->median, verdict->speedup->median);
}

TEST_F(EvaluationTest, NoWorkloadAndNoBenchAreUnsupported) {
  request.problem.policy.workloads["timed"].targets = {task::Target::kCpu};
  EXPECT_EQ(judge("right", right())->outcome, Outcome::kUnsupported);
  const auto verdict = unsupported(request, "language tilelang", folder.path());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::kUnsupported);
}

}  // namespace
}  // namespace kw::gym
