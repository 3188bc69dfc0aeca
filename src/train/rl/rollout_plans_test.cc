#include "train/rl/rollout_plans.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kw::train {
namespace {

RlSettings settings_of(std::int64_t prompts) {
  RlSettings out;
  out.prompts = prompts;
  out.samples = 3;
  out.seed = 5;
  out.held_out = {"x"};
  out.eval_samples = 2;
  return out;
}

TEST(RolloutPlans, EachPassOverTheTasksHasAnOrderOfItsOwn) {
  const RlSettings settings = settings_of(2);
  const RolloutPlans plans(settings, {"a", "b", "c", "d", "e"});
  std::set<std::vector<std::string>> orders;
  for (std::int64_t pass = 0; pass < 4; ++pass) {
    std::vector<std::string> order;
    for (std::int64_t number = 5 * pass; number < 5 * (pass + 1); ++number)
      order.push_back(plans.of_step(number / 2).tasks[static_cast<std::size_t>(number % 2)]);
    EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), 5U) << pass;
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1U);
  EXPECT_EQ(plans.of_step(3).tasks, plans.of_step(3).tasks);
}

TEST(RolloutPlans, EpisodesOfARunHaveNumbersOfTheirOwn) {
  const RlSettings settings = settings_of(2);
  const RolloutPlans plans(settings, {"a", "b", "c"});
  EXPECT_EQ(plans.of_step(0).first_episode, 0U);
  EXPECT_EQ(plans.of_step(1).first_episode, 6U);
  EXPECT_EQ(plans.of_step(1).step, 1);
  EXPECT_EQ(plans.of_step(1).samples, 3);
  EXPECT_EQ(plans.of_step(1).sampler.seed, 5U);
}

TEST(RolloutPlans, AnEvaluationDrawsApartFromTheSteps) {
  const RlSettings settings = settings_of(2);
  const RolloutPlans plans(settings, {"a"});
  const RolloutPlan plan = plans.of_evaluation();
  EXPECT_EQ(plan.tasks, std::vector<std::string>{"x"});
  EXPECT_EQ(plan.samples, 2);
  EXPECT_EQ(plan.sampler.sampling.temperature, settings.eval_temperature);
  EXPECT_EQ(plan.sampler.answer_tokens, settings.answer_tokens);
  EXPECT_NE(plan.sampler.seed, plans.of_step(0).sampler.seed);
}

}  // namespace
}  // namespace kw::train
