#include "rollout/group_filter.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "rollout/kl_reward.h"

namespace kw::rollout {
namespace {

Trajectory answer(double reward, bool truncated = false) {
  Turn turn;
  turn.tokens = {1, 2};
  turn.logprobs = {-0.5F, -1};
  turn.reward = reward;
  turn.truncated = truncated;
  return {{turn}};
}

TEST(GroupFilter, BrokenSamplesAreDroppedAndCounted) {
  Trajectory poisoned = answer(1), short_one = answer(1), unpaid = answer(std::nan("")), empty;
  poisoned.turns[0].logprobs[1] = std::numeric_limits<float>::quiet_NaN();
  short_one.turns[0].logprobs.pop_back();
  std::vector<Group> groups = {{"a", {answer(0), poisoned, answer(1), short_one, unpaid, empty}},
                               {"b", {poisoned, answer(0)}}};
  const FilterCounts counts = filter_groups(groups, {.min_group = 2});
  EXPECT_EQ(counts.broken_trajectories, 5);
  EXPECT_EQ(counts.too_small, 1);
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0].trajectories.size(), 2);
}

TEST(GroupFilter, GroupsWithoutSpreadAreDropped) {
  std::vector<Group> groups = {{"equal", {answer(0.1), answer(0.1), answer(0.1)}},
                               {"close", {answer(0), answer(1e-3)}},
                               {"apart", {answer(0), answer(1)}}};
  EXPECT_EQ(filter_groups(groups, {.min_deviation = 1e-3}).without_spread, 2);
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0].id, "apart");
}

TEST(GroupFilter, TruncatedGroupsAreDroppedOnlyWhenAskedFor) {
  const std::vector<Group> all = {{"cut", {answer(0, true), answer(1, true)}},
                                  {"half", {answer(0, true), answer(1)}}};
  std::vector<Group> groups = all;
  EXPECT_EQ(filter_groups(groups, {}).all_truncated, 0);
  EXPECT_EQ(groups.size(), 2);
  EXPECT_EQ(filter_groups(groups, {.drop_all_truncated = true}).all_truncated, 1);
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0].id, "half");
}

TEST(LengthPenalty, FallsLinearlyInTheMargin) {
  EXPECT_EQ(length_penalty(16384, 20480, 4096), 0);
  EXPECT_EQ(length_penalty(18432, 20480, 4096), -0.5);
  EXPECT_EQ(length_penalty(20480, 20480, 4096), -1);
}

TEST(KlReward, IsSubtractedTokenByToken) {
  Turn turn = answer(1).turns[0];
  turn.token_rewards = {0.25, 0};
  const float policy[] = {-0.5F, -1}, reference[] = {-1, -0.75F};  // d: 0.5, -0.25
  subtract_kl(turn, policy, reference, 2, KlEstimate::kK1);
  EXPECT_NEAR(turn.token_rewards[0], 0.25 - 1, 1e-12);
  EXPECT_NEAR(turn.token_rewards[1], 0.5, 1e-12);
  EXPECT_NEAR(reward_of(turn), 1 - 0.75 + 0.5, 1e-12);
  EXPECT_NEAR(kl_estimate(KlEstimate::kK2, -0.25), 0.03125, 1e-12);
  EXPECT_NEAR(kl_estimate(KlEstimate::kK3, 0.5), std::exp(-0.5) + 0.5 - 1, 1e-12);
}

TEST(GroupFilter, GroupsWithoutSpreadStayForOtherLosses) {
  std::vector<Group> groups = {{"same", {answer(1), answer(1)}},
                               {"differ", {answer(0), answer(1)}}};
  EXPECT_EQ(filter_groups(groups, {.keep_without_spread = true}).without_spread, 1);
  ASSERT_EQ(groups.size(), 2);
  EXPECT_TRUE(groups[0].without_spread);
  EXPECT_FALSE(groups[1].without_spread);
}

}  // namespace
}  // namespace kw::rollout
