#include "service/kernelgym/evaluation_response.h"

#include <gtest/gtest.h>

#include "task/verdict.h"

namespace kw::service::kernelgym {
namespace {

service::TaskStatus ended(const char* state, const Json& answer) {
  return {.state = state, .is_final = true, .answer = answer.is_null() ? "" : answer.dump()};
}

task::Verdict verdict_of(task::Outcome outcome) {
  task::Verdict out;
  out.problem_hash = std::string(64, 'a');
  out.candidate_hash = std::string(64, 'b');
  out.language = "triton";
  out.outcome = outcome;
  if (outcome == task::Outcome::kViolation) out.violation = "ghost_kernel";
  out.kernelbench.compiled = outcome != task::Outcome::kCompileError;
  out.diagnostics = {{"mismatch", "y is wrong"}, {"kernels", "relu"}};
  return out;
}

Json response_of(const task::Verdict& verdict) {
  return evaluation_response("t", ended("done", {{"verdict", to_json(verdict)}}));
}

// status, compiled, correctness, decoy_kernel, error_code
std::string words(const Json& response) {
  std::string out;
  for (const char* key : {"status", "compiled", "correctness", "decoy_kernel", "error_code"})
    out += (out.empty() ? "" : " ") +
           (response[key].is_string() ? response[key].get<std::string>() : response[key].dump());
  return out;
}

TEST(EvaluationResponse, EachOutcomeHasItsWords) {
  using enum task::Outcome;
  const std::vector<std::pair<task::Outcome, const char*>> known = {
      {kPassed, "completed true true false null"},
      {kNoisy, "completed true true false null"},
      {kCompileError, "failed false false false COMPILATION_ERROR"},
      {kWrongShape, "completed true false false CORRECTNESS_ERROR"},
      {kWrongDtype, "completed true false false CORRECTNESS_ERROR"},
      {kWrongValue, "completed true false false CORRECTNESS_ERROR"},
      {kRuntimeError, "completed true false false RUNTIME_ERROR"},
      {kTimeout, "failed true false false TIMEOUT_ERROR"},
      {kMemoryLimit, "completed true false false RESOURCE_ERROR"},
      {kOutputLimit, "completed true false false RESOURCE_ERROR"},
      {kViolation, "completed true false true CORRECTNESS_ERROR"},
      // Nothing is known of the candidate: no reward, rather than a bad one.
      {kQuarantined, "failed null null null VALIDATION_ERROR"},
      {kUnsupported, "failed null null null RESOURCE_ERROR"}};
  for (const auto& [outcome, expected] : known)
    EXPECT_EQ(words(response_of(verdict_of(outcome))), expected) << to_string(outcome);
}

TEST(EvaluationResponse, HasTheTimesOfACorrectKernel) {
  task::Verdict verdict = verdict_of(task::Outcome::kPassed);
  verdict.times = task::Times{.candidate_ms = 0.5,
                              .reference_ms = 1,
                              .candidate_samples_ms = {0.5},
                              .reference_samples_ms = {1}};
  verdict.clock = task::Clock::kWall;
  verdict.speedup = task::Speedup{2, 1.9, 2.1};
  verdict.coverage = task::Coverage{0.75, 0.5};
  const Json out = response_of(verdict);
  EXPECT_EQ(out["kernel_runtime"], 0.5);
  EXPECT_EQ(out["reference_runtime"], 1.0);
  EXPECT_EQ(out["speedup"], 2.0);
  EXPECT_EQ(out["metadata"]["time_coverage"], 0.75);
  EXPECT_EQ(out["metadata"]["backend"], "triton");
  EXPECT_EQ(out["metadata"]["kernelwright"]["outcome"], "passed");
  const Json untimed = response_of(verdict_of(task::Outcome::kPassed));
  EXPECT_EQ(untimed["kernel_runtime"], -1.0);
  EXPECT_EQ(untimed["speedup"], 0.0);
}

TEST(EvaluationResponse, ABorderlinePassIsCorrectAndSaysSo) {
  task::Verdict verdict = verdict_of(task::Outcome::kPassed);
  EXPECT_FALSE(response_of(verdict)["metadata"]["kernelwright"].contains("borderline"));
  verdict.workloads.resize(1);
  verdict.workloads[0].borderline = task::Borderline{1.03, {0.97, 1.02}};
  const Json out = response_of(verdict);
  EXPECT_EQ(out["correctness"], true);
  EXPECT_EQ(out["metadata"]["kernelwright"]["borderline"], true);
}

TEST(EvaluationResponse, SaysWhatIsWrong) {
  const Json wrong = response_of(verdict_of(task::Outcome::kWrongValue));
  EXPECT_EQ(wrong["error_message"], "Kernel produced incorrect results: y is wrong");
  EXPECT_EQ(wrong["metadata"]["correctness_issue"], "y is wrong");
  EXPECT_EQ(response_of(verdict_of(task::Outcome::kViolation))["error_message"],
            "Kernel broke a rule (ghost_kernel): y is wrong");
}

TEST(EvaluationResponse, AFailureOfOursSaysNothingOfTheKernel) {
  const Json failed = evaluation_response(
      "t", ended("dead", {{"error", {{"code", "internal"}, {"message", "the worker died"}}}}));
  EXPECT_EQ(words(failed), "failed null null null SYSTEM_ERROR");
  EXPECT_EQ(failed["error_message"], "the worker died");
  EXPECT_EQ(evaluation_response("t", ended("cancelled", nullptr))["error_message"],
            "Task cancelled");
  EXPECT_EQ(evaluation_response("t", ended("expired", nullptr))["error_message"],
            "no verdict: the task is expired");
  const Error why(ErrorCode::kInvalidArgument, "no class");
  EXPECT_EQ(words(refused_response("t", why, true)), "failed false false false VALIDATION_ERROR");
  EXPECT_EQ(words(refused_response("t", why, false)), "failed null null null VALIDATION_ERROR");
}

TEST(EvaluationResponse, ATaskUnderWayHasAStatus) {
  EXPECT_EQ(status_word({.state = "waiting"}), "pending");
  EXPECT_EQ(status_word({.state = "leased"}), "processing");
  EXPECT_EQ(status_word(ended("done", {{"verdict", to_json(verdict_of(task::Outcome::kPassed))}})),
            "completed");
  EXPECT_EQ(status_word(ended("failed", nullptr)), "failed");
}

}  // namespace
}  // namespace kw::service::kernelgym
