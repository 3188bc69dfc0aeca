// Tests of joining the reports of process pairs.
#include "gym/supervisor/process_pairs.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

Json report(const char* outcome, double sample, Json max_of_budget) {
  return {{"outcome", outcome},
          {"violation", ""},
          {"candidate_ns", {sample}},
          {"reference_ns", {2 * sample}},
          {"pair_samples", {1}},
          {"blocks", 5},
          {"errors",
           {{{"output", "y"},
             {"max_absolute", 0.5},
             {"max_relative", 0.25},
             {"max_of_budget", max_of_budget},
             {"checked_calls", 3}}}},
          {"cost", {{"load_ms", 1.5}, {"time_ms", 2.0}}},
          {"kernelbench", {{"compiled", true}, {"correctness", std::string(outcome) == "passed"}}},
          {"flashinfer", {{"status", "PASSED"}}},
          {"diagnostics", Json::array()},
          {"log", "a"}};
}

TEST(ProcessPairs, SamplesTogether) {
  Json joined = report("passed", 10, 0.5);
  add_process_pair(joined, report("passed", 12, 0.75));
  EXPECT_EQ(joined["candidate_ns"], Json({10.0, 12.0}));
  EXPECT_EQ(joined["reference_ns"], Json({20.0, 24.0}));
  EXPECT_EQ(joined["pair_samples"], Json({1, 1}));
  EXPECT_EQ(joined["blocks"], 10);
  EXPECT_EQ(joined["errors"][0]["max_of_budget"], 0.75);
  EXPECT_EQ(joined["errors"][0]["checked_calls"], 6);
  EXPECT_EQ(joined["cost"]["load_ms"], 3.0);
  EXPECT_EQ(joined["log"], "aa");
}

TEST(ProcessPairs, OneWrongPairIsWrong) {
  Json joined = report("passed", 10, 0.5);
  add_process_pair(joined, report("wrong_value", 12, nullptr));
  EXPECT_EQ(joined["outcome"], "wrong_value");
  EXPECT_TRUE(joined["errors"][0]["max_of_budget"].is_null());
  EXPECT_EQ(joined["kernelbench"]["correctness"], false);
  EXPECT_TRUE(joined["candidate_ns"].empty());
  EXPECT_TRUE(joined["pair_samples"].empty());
}

TEST(ProcessPairs, NoiseIsJudgedOverAllOfThem) {
  Json calm = report("passed", 10, 0.5), noisy = calm;
  calm["candidate_ns"] = calm["reference_ns"] = std::vector<double>(30, 1.0);
  calm["disturbed_samples"] = 0;
  noisy["disturbed_samples"] = 3;
  noisy["disturbed_by_faults"] = 3;
  Json joined = noisy;
  add_process_pair(joined, calm);
  refuse_noise(joined);
  EXPECT_EQ(joined["outcome"], "passed");  // 3 of 34
  add_process_pair(joined, noisy);
  refuse_noise(joined);
  EXPECT_EQ(joined["outcome"], "noisy");
  EXPECT_TRUE(joined["candidate_ns"].empty());
  EXPECT_NE(joined["diagnostics"][0]["message"].get<std::string>().find("page faults"),
            std::string::npos);
}

}  // namespace
}  // namespace kw::gym
