// The statuses of other benchmarks, by what was compared and by how the judgement ended.
#include "gym/checker/benchmark_rules.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using task::Outcome;

class BenchmarkRulesTest : public ::testing::Test {
 protected:
  static RulesResult result(bool is_close, FlashInferStatus status, double error) {
    RulesResult out;
    out.is_close = is_close;
    out.flashinfer.status = status;
    out.flashinfer.max_absolute_error = error;
    out.flashinfer.max_relative_error = error / 2;
    return out;
  }
  WorkloadReport report(std::optional<Outcome> ended = std::nullopt) const {
    WorkloadReport out;
    std::optional<Fault> fault;
    if (ended) fault = Fault{*ended, "", ""};
    rules_.add_to(out, fault);
    return out;
  }
  std::string status(std::optional<Outcome> ended = std::nullopt) const {
    return report(ended).flashinfer.status;
  }
  bool is_correct(std::optional<Outcome> ended = std::nullopt) const {
    return report(ended).kernelbench->correctness;
  }

  BenchmarkRules rules_;
};

TEST_F(BenchmarkRulesTest, OneWrongOutputIsEnoughAndTheLargestErrorIsTold) {
  rules_.add(result(true, FlashInferStatus::kPassed, 0.5));
  EXPECT_EQ(status(), "PASSED");
  EXPECT_TRUE(is_correct());
  rules_.add(result(false, FlashInferStatus::kPassed, 0.75));
  EXPECT_EQ(status(), "PASSED");
  EXPECT_FALSE(is_correct());
  rules_.add(result(true, FlashInferStatus::kIncorrectNumerical, 0.25));
  EXPECT_EQ(status(), "INCORRECT_NUMERICAL");
  EXPECT_FALSE(is_correct());
  EXPECT_EQ(report().flashinfer.max_absolute_error, 0.75);
  EXPECT_EQ(report().flashinfer.max_relative_error, 0.375);
}

// They look at outputs alone: what we call a violation or noise they would have passed.
TEST_F(BenchmarkRulesTest, WhereTheyWouldHaveHadOutputsThoseDecide) {
  rules_.add(result(true, FlashInferStatus::kPassed, 0));
  for (const Outcome ended : {Outcome::kViolation, Outcome::kNoisy, Outcome::kWrongValue}) {
    EXPECT_EQ(status(ended), "PASSED") << to_string(ended);
    EXPECT_TRUE(is_correct(ended)) << to_string(ended);
  }
}

TEST_F(BenchmarkRulesTest, AFaultHasTheirWordForIt) {
  rules_.add(result(true, FlashInferStatus::kPassed, 0));
  EXPECT_EQ(status(Outcome::kWrongShape), "INCORRECT_SHAPE");
  EXPECT_EQ(status(Outcome::kWrongDtype), "INCORRECT_DTYPE");
  EXPECT_EQ(status(Outcome::kTimeout), "TIMEOUT");
  EXPECT_EQ(status(Outcome::kRuntimeError), "RUNTIME_ERROR");
  EXPECT_EQ(status(Outcome::kMemoryLimit), "RUNTIME_ERROR");
  EXPECT_FALSE(is_correct(Outcome::kTimeout));
}

TEST_F(BenchmarkRulesTest, WithoutAnOutputNothingPasses) {
  EXPECT_FALSE(rules_.has_compared());
  EXPECT_EQ(status(), "RUNTIME_ERROR");
  EXPECT_FALSE(is_correct());
  EXPECT_EQ(status(Outcome::kViolation), "RUNTIME_ERROR");
  EXPECT_TRUE(report().kernelbench->compiled);
}

}  // namespace
}  // namespace kw::gym
