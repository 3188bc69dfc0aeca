// Tests of joining the reports of process pairs.
#include "gym/evaluation/process_pairs.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using task::Outcome;

WorkloadReport report(Outcome outcome, double sample, double max_of_budget) {
  WorkloadReport out;
  out.outcome = outcome;
  out.candidate_ns = {sample};
  out.reference_ns = {2 * sample};
  out.pair_samples = {1};
  out.blocks = 5;
  out.errors = {{"y", 0.5, 0.25, max_of_budget, 3}};
  out.cost = {.load_ms = 1.5, .time_ms = 2};
  out.kernelbench = {.compiled = true, .correctness = outcome == Outcome::kPassed};
  out.flashinfer.status = "PASSED";
  out.log = "a";
  return out;
}

TEST(ProcessPairs, SamplesTogether) {
  WorkloadReport joined = report(Outcome::kPassed, 10, 0.5);
  add_process_pair(joined, report(Outcome::kPassed, 12, 0.75));
  EXPECT_EQ(joined.candidate_ns, (std::vector<double>{10, 12}));
  EXPECT_EQ(joined.reference_ns, (std::vector<double>{20, 24}));
  EXPECT_EQ(joined.pair_samples, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(joined.blocks, 10);
  EXPECT_EQ(joined.errors[0].max_of_budget, 0.75);
  EXPECT_EQ(joined.errors[0].checked_calls, 6);
  EXPECT_EQ(joined.cost, (WorkloadCost{.load_ms = 3, .time_ms = 4}));
  EXPECT_EQ(joined.log, "aa");
}

TEST(ProcessPairs, OneByTheProcessorsClockIsNamed) {
  const WorkloadReport wall = report(Outcome::kPassed, 10, 0.5);
  WorkloadReport joined = wall;
  add_process_pair(joined, wall);
  EXPECT_EQ(joined.clock, task::Clock::kWall);
  WorkloadReport busy = wall;
  busy.clock = task::Clock::kProcessor;
  add_process_pair(joined, busy);
  add_process_pair(joined, wall);
  EXPECT_EQ(joined.clock, task::Clock::kProcessor);
}

TEST(ProcessPairs, OneWrongPairIsWrong) {
  WorkloadReport joined = report(Outcome::kPassed, 10, 0.5);
  add_process_pair(joined, report(Outcome::kWrongValue, 12, INFINITY));
  EXPECT_EQ(joined.outcome, Outcome::kWrongValue);
  EXPECT_EQ(joined.errors[0].max_of_budget, INFINITY);
  EXPECT_FALSE(joined.kernelbench->correctness);
  EXPECT_TRUE(joined.candidate_ns.empty());
  EXPECT_TRUE(joined.pair_samples.empty());
}

TEST(ProcessPairs, OneNearItsBudgetIsToldOfAll) {
  const auto borderline = [](double largest, Outcome outcome = Outcome::kPassed) {
    WorkloadReport out = report(outcome, 10, largest);
    out.borderline = task::Borderline{largest, {0.5, outcome == Outcome::kPassed ? 0.5 : 1.05}};
    return out;
  };
  const WorkloadReport clear = report(Outcome::kPassed, 10, 0.5);
  for (const auto& [first, second] : {std::pair(clear, borderline(1.05)),
                                      {borderline(1.05), clear},
                                      {borderline(0.95), borderline(1.05)},
                                      {borderline(1.05), borderline(0.95)}}) {
    WorkloadReport joined = first;
    add_process_pair(joined, second);
    ASSERT_TRUE(joined.borderline);
    EXPECT_EQ(joined.borderline->largest, 1.05);
  }
  // The pair that decides tells how.
  WorkloadReport joined = borderline(1.05);
  add_process_pair(joined, borderline(1.01, Outcome::kWrongValue));
  EXPECT_EQ(joined.borderline->largest, 1.01);
  add_process_pair(joined, report(Outcome::kViolation, 10, 0.5));
  EXPECT_FALSE(joined.borderline);
}

TEST(ProcessPairs, NoiseIsJudgedOverAllOfThem) {
  WorkloadReport calm = report(Outcome::kPassed, 10, 0.5), noisy = calm;
  calm.candidate_ns = calm.reference_ns = std::vector<double>(30, 1.0);
  noisy.disturbed_samples = 3;
  noisy.disturbed_by_faults = 3;
  WorkloadReport joined = noisy;
  add_process_pair(joined, calm);
  refuse_noise(joined);
  EXPECT_EQ(joined.outcome, Outcome::kPassed);  // 3 of 34
  add_process_pair(joined, noisy);
  refuse_noise(joined);
  EXPECT_EQ(joined.outcome, Outcome::kNoisy);
  EXPECT_TRUE(joined.candidate_ns.empty());
  EXPECT_NE(joined.diagnostics[0].message.find("page faults"), std::string::npos);
}

}  // namespace
}  // namespace kw::gym
