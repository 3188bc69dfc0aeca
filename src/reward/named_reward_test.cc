#include "reward/named_reward.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kw::reward {
namespace {

Finding correct(double speedup, double low) {
  Finding out;
  out.progress = task::Progress::kCorrect;
  out.outcome = task::Outcome::kPassed;
  out.speedup = task::Speedup{speedup, low, 2 * speedup - low};
  return out;
}

Finding found(task::Outcome outcome) {
  Finding out;
  out.progress = task::Progress::kCompiled;
  out.outcome = outcome;
  return out;
}

double paid(const Finding& finding, const RewardSettings& settings) {
  return named_reward(finding, settings).value().total();
}

TEST(NamedReward, SpeedCountsOnlyWhenCorrect) {
  const RewardSettings settings{.terms = {"gated_log"}, .max_speedup = 4};
  EXPECT_DOUBLE_EQ(paid(correct(2, 1.5), settings), std::log(2));
  EXPECT_DOUBLE_EQ(paid(correct(0.5, 0.4), settings), -std::log(2));
  EXPECT_DOUBLE_EQ(paid(correct(9, 8), settings), std::log(4));
  EXPECT_DOUBLE_EQ(paid(found(task::Outcome::kWrongValue), settings), -std::log(4));
  EXPECT_DOUBLE_EQ(paid(no_code(false), settings), -std::log(4));
  EXPECT_FALSE(named_reward(found(task::Outcome::kNoisy), settings).has_value());
}

// With the reward of a wrong one, a correct kernel would be trained away for a busy machine.
TEST(NamedReward, ACorrectAnswerWithoutATimeHasNoRewardForSpeed) {
  Finding untimed = correct(2, 1.5);
  untimed.speedup.reset();
  for (const char* name :
       {"gated_log", "kevin", "staged", "kernelgym", "kernelgym_threshold", "kernelgym_step"})
    EXPECT_FALSE(named_reward(untimed, {.terms = {"correct", name}}).has_value()) << name;
  EXPECT_DOUBLE_EQ(paid(untimed, {.terms = {"correct"}}), 1);
}

TEST(NamedReward, TermsAreWeighedAndAdded) {
  RewardSettings settings{.terms = {"correct", "kevin"}, .weights = {0.5, 2}};
  EXPECT_DOUBLE_EQ(paid(correct(2, 1.5), settings), 0.5 + 2 * (0.3 + 2));
  EXPECT_DOUBLE_EQ(paid(correct(9, 8), settings), 0.5 + 2 * (0.3 + 3));
  settings.estimate = "low";
  EXPECT_DOUBLE_EQ(paid(correct(2, 1.5), settings), 0.5 + 2 * (0.3 + 1.5));
  settings.violation = -1;
  EXPECT_DOUBLE_EQ(paid(found(task::Outcome::kViolation), settings), -1);
  EXPECT_DOUBLE_EQ(paid(found(task::Outcome::kWrongValue), settings), 0);
}

TEST(NamedReward, EveryNameHasAFormula) {
  for (const char* name : {"gated_log", "correct", "kevin", "staged", "kernelgym",
                           "kernelgym_threshold", "kernelgym_step"}) {
    const RewardSettings settings{.terms = {name}};
    ASSERT_TRUE(check(settings).has_value()) << name;
    EXPECT_GT(paid(correct(2, 1.5), settings), paid(found(task::Outcome::kWrongValue), settings))
        << name;
  }
}

TEST(NamedReward, WrongSettingsAreNamed) {
  const auto refused = [](const RewardSettings& settings, const std::string& key) {
    const Status status = check(settings);
    ASSERT_FALSE(status.has_value()) << key;
    EXPECT_EQ(status.error().message().find(key), 0U) << status.error().message();
  };
  refused({.terms = {}}, "terms");
  refused({.terms = {"speed"}}, "terms");
  refused({.weights = {1, 2}}, "weights");
  refused({.max_speedup = 1}, "max_speedup");
  refused({.violation = 1}, "violation");
  refused({.estimate = "mean"}, "estimate");
}

}  // namespace
}  // namespace kw::reward
