// Tests of the Trace codec and of the export of verdicts.
#include "task/trace.h"

#include <limits>

#include <gtest/gtest.h>

#include "task/testing/golden.h"
#include "text/jsonl.h"

namespace kw::task {
namespace {

TEST(Trace, GoldenFileRoundTrips) {
  std::string text = golden("traces.jsonl");
  std::string written;
  std::vector<Trace> traces;
  auto read = text::for_each_json_line(text, "traces", [&](const Json& line) -> Status {
    KW_TRY(Trace trace, trace_from_json(line, ""));
    written += to_json(trace).dump() + "\n";
    traces.push_back(std::move(trace));
    return {};
  });
  ASSERT_TRUE(read) << message_of(read);
  EXPECT_EQ(written, text);
  ASSERT_EQ(traces.size(), 8U);
  EXPECT_FALSE(traces[0].evaluation);
  EXPECT_EQ(traces[1].evaluation->performance->speedup_factor, 2.0);
  EXPECT_EQ(traces[1].evaluation->environment.libs.at("torch"), "2.13.0");
}

struct Defect {
  const char* pointer;
  const char* value;
  const char* message;
};

constexpr Defect kDefects[] = {
    {"/definition", "null", "definition: missing"},
    {"/workload", "null", "workload: missing"},
    {"/workload/axes/n", "-1", "workload.axes.n: expected at least 0"},
    {"/solution", "3", "solution: expected a string"},
    {"/evaluation/status", "null", "evaluation.status: missing"},
    {"/evaluation/status", "\"passed\"",
     "evaluation.status: \"passed\" is not one of PASSED, INCORRECT_SHAPE"},
    {"/evaluation/status", "\"TIMEOUT\"",
     "evaluation.correctness: must be null with status TIMEOUT"},
    {"/evaluation/status", "\"INCORRECT_NUMERICAL\"",
     "evaluation.performance: must be null with status INCORRECT_NUMERICAL"},
    {"/evaluation/correctness", "null", "evaluation.correctness: required with status PASSED"},
    {"/evaluation/performance", "null", "evaluation.performance: required with status PASSED"},
    {"/evaluation/correctness/extra", "[]",
     "evaluation.correctness.extra: expected an object or null"},
    {"/evaluation/correctness/max_relative_error", "-1",
     "evaluation.correctness.max_relative_error: expected at least 0"},
    {"/evaluation/correctness/max_relative_error", "\"0\"",
     "evaluation.correctness.max_relative_error: expected a number"},
    {"/evaluation/performance/latency_ms", "-1",
     "evaluation.performance.latency_ms: expected at least 0"},
    {"/evaluation/performance/speedup", "1", "evaluation.performance.speedup: unknown key"},
    {"/evaluation/environment", "null", "evaluation.environment: missing"},
    {"/evaluation/environment/hardware", "\"\"", "evaluation.environment.hardware: empty"},
    {"/evaluation/environment/libs/torch", "2",
     "evaluation.environment.libs.torch: expected a string"},
    {"/evaluation/timestamp", "null", "evaluation.timestamp: missing"},
    {"/evaluation/timestamp", "\"\"", "evaluation.timestamp: empty"},
    {"/evaluation/logs", "\"\"", "evaluation.logs: unknown key (did you mean \"log\"?)"},
    {"/evalution", "1", "evalution: unknown key (did you mean \"evaluation\"?)"},
};

TEST(Trace, EveryRuleIsChecked) {
  std::string text = golden("traces.jsonl");
  auto begin = text.find('\n') + 1;
  Json passed = json_of(text.substr(begin, text.find('\n', begin) - begin));
  for (const Defect& defect : kDefects) {
    auto bad = trace_from_json(with(passed, defect.pointer, json_of(defect.value)), "");
    EXPECT_THAT(message_of(bad), testing::StartsWith(defect.message))
        << defect.pointer << " = " << defect.value;
  }
  Json log = with(passed, "/evaluation/log", std::string(Evaluation::kMaxLog + 1, 'x'));
  EXPECT_THAT(message_of(trace_from_json(log, "")),
              testing::StartsWith("evaluation.log: 5242881 bytes"));
  EXPECT_TRUE(
      trace_from_json(with(passed, "/evaluation/log", std::string(Evaluation::kMaxLog, 'x')), ""));
}

// A problem with two workloads, and a verdict that passed both in 1 ms against 3 ms.
struct Judged {
  Problem problem;
  Verdict verdict;
  Judged() {
    problem.name = "relu";
    problem.workloads = {{"w1", {}, {}}, {"w2", {}, {}}};
    verdict.candidate_name = "mine";
    for (const char* uuid : {"w1", "w2"}) {
      WorkloadVerdict workload;
      workload.uuid = uuid;
      workload.errors = {{"y", 0.5, 0.25, 0.125, 4}, {"z", 0.75, 0.125, 0.5, 4}};
      workload.times = Times{1, 3, {}, {}};
      workload.speedup = Speedup{2.9, 2.8, 3.1};
      verdict.workloads.push_back(workload);
    }
  }
  std::vector<Trace> traces() const {
    return traces_of(verdict, problem, {"cpu", {}}, "2026-01-01T00:00:00Z");
  }
};

TEST(TraceExport, EveryLineIsValidThere) {
  for (const char* name : {"passed", "compile_error", "wrong_shape", "wrong_dtype", "wrong_value",
                           "runtime_error", "timeout", "memory_limit", "output_limit", "violation",
                           "quarantined", "unsupported", "noisy"}) {
    Judged judged;
    judged.verdict.outcome = judged.verdict.workloads[1].outcome = *outcome_from_string(name);
    if (judged.verdict.outcome == Outcome::kViolation)
      judged.verdict.violation = judged.verdict.workloads[1].violation = "input_write";
    for (const Trace& trace : judged.traces()) {
      auto read = trace_from_json(to_json(trace), "");
      EXPECT_TRUE(read) << name << ": " << message_of(read);
    }
  }
}

TEST(TraceExport, PassesCarryErrorsAndTimes) {
  auto traces = Judged().traces();
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].solution, "mine");
  EXPECT_EQ(traces[0].evaluation->correctness->max_absolute_error, 0.75);
  EXPECT_EQ(traces[0].evaluation->correctness->max_relative_error, 0.25);
  EXPECT_EQ(traces[0].evaluation->performance->latency_ms, 1);
  EXPECT_EQ(traces[0].evaluation->performance->speedup_factor, 2.9);
  Judged untimed;
  untimed.verdict.workloads[0].times.reset();
  ASSERT_EQ(untimed.traces().size(), 1U);
  EXPECT_EQ(untimed.traces()[0].workload.uuid, "w2");
}

TEST(TraceExport, StatusesAreMapped) {
  const std::vector<std::pair<Outcome, std::optional<TraceStatus>>> kMap = {
      {Outcome::kCompileError, TraceStatus::kCompileError},
      {Outcome::kWrongShape, TraceStatus::kIncorrectShape},
      {Outcome::kWrongDtype, TraceStatus::kIncorrectDtype},
      {Outcome::kWrongValue, TraceStatus::kIncorrectNumerical},
      {Outcome::kRuntimeError, TraceStatus::kRuntimeError},
      {Outcome::kTimeout, TraceStatus::kTimeout},
      {Outcome::kMemoryLimit, TraceStatus::kRuntimeError},
      {Outcome::kOutputLimit, TraceStatus::kRuntimeError},
      {Outcome::kQuarantined, std::nullopt},
      {Outcome::kUnsupported, std::nullopt},
      {Outcome::kNoisy, std::nullopt}};
  for (const auto& [outcome, status] : kMap) {
    Judged judged;
    judged.verdict.outcome = judged.verdict.workloads[0].outcome = outcome;
    auto traces = judged.traces();
    ASSERT_EQ(traces.size(), status ? 2U : 1U) << to_string(outcome);
    if (status) {
      EXPECT_EQ(traces[0].evaluation->status, *status) << to_string(outcome);
      EXPECT_THAT(traces[0].evaluation->log, testing::StartsWith(std::string(to_string(outcome))))
          << "log";
    }
    EXPECT_EQ(traces.back().evaluation->status, TraceStatus::kPassed);
  }
}

TEST(TraceExport, OneViolationVoidsEveryPass) {
  Judged judged;
  judged.verdict.outcome = judged.verdict.workloads[0].outcome = Outcome::kViolation;
  judged.verdict.violation = judged.verdict.workloads[0].violation = "forged_report";
  auto traces = judged.traces();
  ASSERT_EQ(traces.size(), 2U);
  for (const Trace& trace : traces) {
    EXPECT_EQ(trace.evaluation->status, TraceStatus::kRuntimeError);
    EXPECT_THAT(trace.evaluation->log, testing::StartsWith("violation: forged_report"));
    EXPECT_FALSE(trace.evaluation->performance);
  }
}

TEST(TraceExport, BuildsThatFailedAndValuesOutsideJson) {
  Judged judged;
  judged.verdict.workloads.clear();
  judged.verdict.outcome = Outcome::kCompileError;
  judged.verdict.diagnostics = {{"compiler", "no ;"}};
  auto traces = judged.traces();
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[1].evaluation->log, "compile_error\ncompiler: no ;\n");
  Judged wrong;
  wrong.verdict.outcome = wrong.verdict.workloads[0].outcome = Outcome::kWrongValue;
  wrong.verdict.workloads[0].errors[0].max_absolute = std::numeric_limits<double>::quiet_NaN();
  const auto correctness = *wrong.traces()[0].evaluation->correctness;
  EXPECT_EQ(correctness.max_absolute_error, std::numeric_limits<double>::max());
  EXPECT_EQ(correctness.extra["kernelwright"]["all_finite"], false);
}

}  // namespace
}  // namespace kw::task
