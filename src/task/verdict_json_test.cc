// Tests of the Verdict codec, outcomes and KernelBench's result file.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "task/kernelbench_results.h"
#include "task/progress.h"
#include "task/testing/golden.h"
#include "task/verdict.h"

namespace kw::task {
namespace {

TEST(Verdict, GoldenFilesRoundTrip) {
  for (const char* name : {"verdict.json", "verdict_violation.json"}) {
    std::string text = golden(name);
    auto verdict = verdict_from_json(json_of(text), "");
    ASSERT_TRUE(verdict) << name << ": " << message_of(verdict);
    EXPECT_EQ(to_json(*verdict).dump(2) + "\n", text) << name;
  }
  Verdict bad = verdict_from_json(json_of(golden("verdict_violation.json")), "").value();
  EXPECT_EQ(bad.outcome, Outcome::kViolation);
  EXPECT_EQ(bad.violation, "input_write");
  EXPECT_TRUE(std::isinf(bad.workloads[0].errors[0].max_absolute));
  EXPECT_TRUE(std::isnan(bad.workloads[0].errors[0].max_relative));
  EXPECT_EQ(bad.coverage->count, 0.25);
  EXPECT_FALSE(bad.times);
}

TEST(Verdict, ABorderlinePassIsToldByItsWorkload) {
  Verdict verdict = verdict_from_json(json_of(golden("verdict.json")), "").value();
  ASSERT_EQ(verdict.outcome, Outcome::kPassed);
  EXPECT_FALSE(is_borderline(verdict));
  EXPECT_EQ(outcome_name(verdict), "passed");
  EXPECT_FALSE(to_json(verdict)["workloads"][0].contains("borderline"));
  verdict.workloads[0].borderline = Borderline{1.03, {0.97, 1.02}};
  const Json json = to_json(verdict);
  EXPECT_EQ(json["workloads"][0]["borderline"].dump(), R"({"largest":1.03,"further":[0.97,1.02]})");
  verdict = verdict_from_json(json, "").value();
  EXPECT_EQ(to_json(verdict), json);
  EXPECT_TRUE(is_borderline(verdict));
  EXPECT_EQ(outcome_name(verdict), "borderline");
  EXPECT_EQ(progress_of(verdict), Progress::kRightShape);
  for (const Outcome outcome : {Outcome::kWrongValue, Outcome::kQuarantined}) {
    verdict.outcome = outcome;
    EXPECT_FALSE(is_borderline(verdict));
    EXPECT_EQ(outcome_name(verdict), to_string(outcome));
  }
}

TEST(Verdict, SaysWhatMadeIt) {
  Verdict verdict = verdict_from_json(json_of(golden("verdict.json")), "").value();
  EXPECT_FALSE(to_json(verdict).contains("made_with"));
  verdict.made_with = {16, "gcc version 12.2.0", "", "2.13.0", ""};
  const Json json = to_json(verdict);
  EXPECT_EQ(json["made_with"].dump(),
            R"({"gym_version":16,"compiler":"gcc version 12.2.0","torch":"2.13.0"})");
  EXPECT_EQ(verdict_from_json(json, "")->made_with, verdict.made_with);
  Json bad = json;
  bad["made_with"]["gym_version"] = -1;
  EXPECT_EQ(verdict_from_json(bad, "").error().message(),
            "made_with.gym_version: -1 is no version");
}

TEST(Verdict, ErrorsAtTheTopAreTheWorstOfAllWorkloads) {
  Verdict verdict;
  verdict.workloads.resize(2);
  verdict.workloads[0].errors = {{"y", 1, 0.5, 0.25, 3}};
  verdict.workloads[1].errors = {{"y", 0.5, std::numeric_limits<double>::quiet_NaN(), 0.75, 4},
                                 {"z", 9, 9, 9, 4}};
  Json errors = to_json(verdict)["errors"];
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(
      errors[0].dump(),
      R"({"output":"y","max_absolute":1.0,"max_relative":"nan","max_of_budget":0.75,"checked_calls":7})");
  EXPECT_EQ(errors[1]["output"], "z");
}

struct Defect {
  const char* pointer;
  const char* value;
  const char* message;
};

constexpr Defect kDefects[] = {
    {"/schema", "2", "schema: this program reads schema 1, found 2"},
    {"/schema", "null", "schema: missing"},
    {"/target", "null", "target: missing"},
    {"/evidence_level", "\"some\"", "evidence_level: \"some\" is no evidence level"},
    {"/problem", "null", "problem: missing"},
    {"/problem/hash", "null", "problem.hash: missing"},
    {"/candidate/language", "3", "candidate.language: expected a string"},
    {"/workloads/0/errors/0/checked_calls", "-1",
     "workloads[0].errors[0].checked_calls: -1 is no number of calls"},
    {"/workloads/0/errors/0/checked_calls", "9223372036854775807",
     "workloads[0].errors[0].checked_calls: 9223372036854775807 is no number of calls"},
    {"/outcome", "\"ok\"", "outcome: \"ok\" is no outcome"},
    {"/outcome", "\"violation\"", "violation: a class with outcome violation"},
    {"/violation", "\"input_write\"",
     "violation: a class with outcome violation, null with every other"},
    {"/compat", "null", "compat: missing"},
    {"/compat/kernelbench/runtime", "null", "compat.kernelbench.runtime: missing"},
    {"/compat/flashinfer/x", "1", "compat.flashinfer.x: unknown key"},
    {"/times/candidate_ms", "\"1\"", "times.candidate_ms: expected a number"},
    {"/times/samples/candidate_ms", "[null]",
     "times.samples.candidate_ms: expected a list of numbers"},
    {"/speedup/median", "null", "speedup.median: missing"},
    {"/workloads", "null", "workloads: missing"},
    {"/workloads", "{}", "workloads: expected a list"},
    {"/workloads/0/uuid", "null", "workloads[0].uuid: missing"},
    {"/workloads/0/errors/0/max_absolute", "\"huge\"",
     "workloads[0].errors[0].max_absolute: expected a number"},
    {"/workloads/0/outcome", "\"\"", "workloads[0].outcome: \"\" is no outcome"},
    {"/cost/compile_ms", "true", "cost.compile_ms: expected a number"},
    {"/cost", "null", "cost: missing"},
    {"/diagnostics", "[1]", "diagnostics[0]: expected an object"},
    {"/diagnostics/0/kind", "null", "diagnostics[0].kind: missing"},
    {"/coverage", "[]", "coverage: expected an object"},
    {"/outcom", "1", "outcom: unknown key (did you mean \"outcome\"?)"},
};

TEST(Verdict, EveryFieldIsChecked) {
  Json good = json_of(golden("verdict.json"));
  for (const Defect& defect : kDefects) {
    auto bad = verdict_from_json(with(good, defect.pointer, json_of(defect.value)), "");
    EXPECT_THAT(message_of(bad), testing::StartsWith(defect.message))
        << defect.pointer << " = " << defect.value;
  }
}

TEST(Outcome, OrderAndBlame) {
  std::set<int> severities;
  for (int i = 0; i <= static_cast<int>(Outcome::kNoisy); ++i) {
    auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(outcome_from_string(to_string(outcome)), outcome);
    EXPECT_TRUE(severities.insert(severity(outcome)).second) << to_string(outcome);
  }
  EXPECT_EQ(*severities.begin(), severity(Outcome::kPassed));
  EXPECT_EQ(*severities.rbegin(), severity(Outcome::kViolation));
  EXPECT_GT(severity(Outcome::kWrongValue), severity(Outcome::kNoisy));
  EXPECT_GT(severity(Outcome::kQuarantined), severity(Outcome::kWrongValue));
  for (Outcome outcome :
       {Outcome::kPassed, Outcome::kQuarantined, Outcome::kUnsupported, Outcome::kNoisy}) {
    EXPECT_FALSE(is_candidates_fault(outcome)) << to_string(outcome);
  }
  for (Outcome outcome :
       {Outcome::kCompileError, Outcome::kTimeout, Outcome::kViolation, Outcome::kOutputLimit}) {
    EXPECT_TRUE(is_candidates_fault(outcome)) << to_string(outcome);
  }
}

TEST(KernelBenchResults, GoldenFileRoundTrips) {
  std::string text = golden("eval_results.json");
  auto results = kernelbench_results_from_json(json_of(text));
  ASSERT_TRUE(results) << message_of(results);
  EXPECT_EQ((*results)[1][1].compiled, false);
  EXPECT_EQ(kernelbench_results_text(*results), text);
  Json good = json_of(text);
  auto problem = [&](const std::string& pointer, const Json& v) {
    return message_of(kernelbench_results_from_json(with(good, pointer, v)));
  };
  EXPECT_EQ(problem("/1/0/sample_id", nullptr), "1[0].sample_id: missing");
  EXPECT_EQ(problem("/1/1/compiled", 1), "1[1].compiled: expected true or false, found 1");
  EXPECT_EQ(problem("/1/1/metadata", "x"), "1[1].metadata: expected an object");
  EXPECT_EQ(problem("/1/1/metdata", "x"), "1[1].metdata: unknown key (did you mean \"metadata\"?)");
  EXPECT_EQ(problem("/x", Json::array()), "\"x\" is not a problem id");
  EXPECT_EQ(problem("/19", 1), "19: expected a list of samples");
}

TEST(KernelBenchResults, NumbersComeFromTheVerdict) {
  Verdict verdict;
  verdict.kernelbench = {true, true, -1};
  verdict.times = Times{2, 4, {1, 3}, {4, 4}};
  verdict.speedup = Speedup{2, 1.9, 2.1};
  KernelBenchResult result = kernelbench_result(verdict, 7, "two cores");
  EXPECT_EQ(result.sample_id, 7);
  EXPECT_TRUE(result.correctness);
  EXPECT_EQ(result.runtime_ms, 2);
  EXPECT_EQ(
      result.runtime_stats.dump(),
      R"({"mean":2.0,"std":1.0,"min":1.0,"max":3.0,"num_trials":2,"hardware":"two cores","device":"cpu"})");
  verdict.outcome = Outcome::kViolation;
  verdict.violation = "input_write";
  result = kernelbench_result(verdict, 7, "two cores");
  EXPECT_FALSE(result.correctness);
  EXPECT_EQ(result.runtime_ms, -1);
  EXPECT_TRUE(result.runtime_stats.empty());
  EXPECT_EQ(result.metadata["kernelwright"]["violation"], "input_write");
  KernelBenchResults results;
  results[10] = {kernelbench_result(verdict, 2, ""), kernelbench_result(verdict, 1, "")};
  results[9] = {};
  Json text = json_of(kernelbench_results_text(results));
  EXPECT_EQ(text.begin().key(), "9");
  EXPECT_EQ(text["10"][0]["sample_id"], 1);
}

}  // namespace
}  // namespace kw::task
