// Tests of what a bundle may say: whoever writes one can also write its digest.
#include "gym/evidence.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

Json bundle() {
  return Json::parse(R"({
    "schema": 1, "target": "cpu", "options": {"threads": 1}, "cost": {"compile_ms": 3},
    "problem": {"name": "relu", "hash": "h"}, "candidate": {"name": "c", "hash": "h", "language": "cpp"},
    "workloads": [{
      "uuid": "u", "outcome": "passed", "violation": "",
      "errors": [{"output": "y", "max_absolute": 0, "max_relative": 0, "max_of_budget": 0.5, "checked_calls": 3}],
      "kernelbench": {"compiled": true, "correctness": true}, "flashinfer": {"status": "PASSED"},
      "diagnostics": [{"kind": "hint", "message": "m"}], "oracle": "second_implementation",
      "candidate_ns": [10, 11, 12, 10, 11, 12, 10, 11], "reference_ns": [20, 21, 22, 20, 21, 22, 20, 21],
      "process_pairs": 1, "cost": {"load_ms": 2}}]})");
}

TEST(Evidence, BecomesAVerdict) {
  auto verdict = verdict_from_evidence(bundle());
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->outcome, task::Outcome::kPassed);
  EXPECT_TRUE(verdict->times);
  EXPECT_TRUE(verdict->kernelbench.compiled);
  EXPECT_EQ(verdict->cost.compile_ms + verdict->cost.load_ms, 5);
  ASSERT_EQ(verdict->diagnostics.size(), 1U);
  EXPECT_EQ(verdict->diagnostics[0].kind, "oracle");
}

TEST(Evidence, NamesTheClockOfItsTimes) {
  Json busy = bundle();
  EXPECT_EQ(verdict_from_evidence(busy)->clock, task::Clock::kWall);  // of older versions
  busy["workloads"].push_back(busy["workloads"][0]);
  busy["workloads"][1]["clock"] = "processor";
  const auto verdict = verdict_from_evidence(busy);
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->workloads[0].clock, task::Clock::kWall);
  EXPECT_EQ(verdict->workloads[1].clock, task::Clock::kProcessor);
  EXPECT_EQ(verdict->clock, task::Clock::kProcessor);
  busy["workloads"][1]["outcome"] = "noisy";
  busy["workloads"][1]["candidate_ns"] = Json::array();
  EXPECT_EQ(verdict_from_evidence(busy)->clock, task::Clock::kWall);
}

TEST(Evidence, AGpusKernelsBecomeItsCoverage) {
  Json bundled = bundle();
  const Json kernel = Json::parse(R"({"name": "k", "origin": "own", "launches": 1, "ms": 3,
      "registers": 8, "local_bytes": 0, "shared_bytes": 0, "threads": 32, "occupancy": 1})");
  bundled["workloads"][0]["gpu"] = {
      {"context", "fresh"}, {"call", {{"kernels", {kernel}}, {"other_steps", 1}, {"other_ms", 1}}}};
  const auto verdict = verdict_from_evidence(bundled);
  ASSERT_TRUE(verdict) << verdict.error().message();
  ASSERT_TRUE(verdict->coverage);
  EXPECT_DOUBLE_EQ(verdict->coverage->time, 0.75);
  EXPECT_DOUBLE_EQ(verdict->coverage->count, 0.5);
  bundled["workloads"][0]["gpu"]["call"]["other_ms"] = -1;
  EXPECT_FALSE(verdict_from_evidence(bundled));
}

TEST(Evidence, EveryFieldIsChecked) {
  struct Defect {
    const char* at;
    Json value;
    const char* message;
  };
  const Defect defects[] = {
      {"/workloads/0/kernelbench/compiled", "yes", "kernelbench.compiled: expected true or false"},
      {"/workloads/0/kernelbench", 3, "kernelbench: expected an object"},
      {"/workloads/0/flashinfer/status", 1, "flashinfer.status: expected a string"},
      {"/workloads/0/diagnostics", 1, "diagnostics: expected a list"},
      {"/workloads/0/diagnostics/0/message", 1, "diagnostics.message: expected a string"},
      {"/workloads/0/errors", 1, "errors: expected a list"},
      {"/workloads/0/errors/0/checked_calls", INT64_MAX, "is no number of calls"},
      {"/workloads/0/oracle", 1, "evidence.workloads.oracle: expected a string"},
      {"/workloads/0/cost", Json::array(), "cost: expected an object"},
      {"/workloads/0/candidate_ns/0", 0, "candidate_ns: expected nanoseconds"},
      {"/workloads/0/reference_ns/0", 1e300, "reference_ns: expected nanoseconds"},
      {"/workloads/0/candidate_ns", std::vector<int>(5121, 1), "5121 samples, more than 5120"},
      {"/workloads/0/pair_samples", {1, 1}, "pair_samples: expected at most 64 counts that make"},
      {"/workloads/0/pair_samples", {-1}, "pair_samples: expected at most"},
      {"/workloads/0/pair_samples", std::vector<int>(65, 0), "pair_samples: expected at most"},
      {"/workloads/0/violation", "protocol", "violation: a class with outcome violation only"},
      {"/workloads/0/outcome", "violation", "violation: a class with outcome violation only"},
      {"/workloads", 1, "workloads: expected a list"},
      {"/cost/total_ms", -1, "evidence.cost.total_ms: -1 is not from 0"},
      {"/options/threads", INT64_MAX, "evidence.options.threads"},
      {"/options/memory_bytes", -1, "evidence.options.memory_bytes: expected 0 or more"},
  };
  for (const Defect& defect : defects) {
    Json evidence = bundle();
    evidence[Json::json_pointer(defect.at)] = defect.value;
    auto verdict = verdict_from_evidence(evidence);
    ASSERT_FALSE(verdict) << defect.at;
    EXPECT_NE(verdict.error().message().find(defect.message), std::string::npos)
        << verdict.error().message();
  }
}

TEST(Evidence, AQuarantinedProblemHasNoViolation) {
  Json evidence = bundle();
  evidence["workloads"][0]["outcome"] = "violation";
  evidence["workloads"][0]["violation"] = "protocol";
  evidence["quarantined"] = "trivial candidates pass";
  auto verdict = verdict_from_evidence(evidence);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, task::Outcome::kQuarantined);
  EXPECT_TRUE(task::verdict_from_json(to_json(*verdict), ""));
}

}  // namespace
}  // namespace kw::gym
