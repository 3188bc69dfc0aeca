#include "rollout/measured_rewards.h"

#include <gtest/gtest.h>

namespace kw::rollout {
namespace {

Turn turn(double reward, double low, double high) {
  Turn out;
  out.reward = reward;
  out.reward_low = low;
  out.reward_high = high;
  return out;
}

Group group(const std::vector<Turn>& turns) {
  Group out;
  for (const Turn& one : turns) out.trajectories.push_back({{one}});
  return out;
}

std::vector<double> rewards(const Group& of) {
  std::vector<double> out;
  for (const Trajectory& one : of.trajectories) out.push_back(one.turns.at(0).reward);
  return out;
}

TEST(MeasuredRewards, OverlappingIntervalsGiveEqualRewards) {
  std::vector<Group> groups = {
      group({turn(3, 2.5, 3.5), turn(1, 0.8, 1.2), turn(1.3, 1.1, 1.5), turn(-2, -2, -2)})};
  EXPECT_EQ(merge_overlapping(groups), 2);
  EXPECT_EQ(rewards(groups[0]), (std::vector<double>{3, 1.15, 1.15, -2}));
  EXPECT_EQ(merge_overlapping(groups), 0);
}

TEST(MeasuredRewards, AChainHangsTogether) {
  std::vector<Group> groups = {
      group({turn(1, 0, 2), turn(3, 2, 4), turn(5, 4, 6), turn(9, 7, 11)})};
  EXPECT_EQ(merge_overlapping(groups), 2);  // the middle one is the mean already
  EXPECT_EQ(rewards(groups[0]), (std::vector<double>{3, 3, 3, 9}));
}

TEST(MeasuredRewards, ExactRewardsAndOtherGroupsStay) {
  std::vector<Group> groups = {group({turn(0.1, 0.1, 0.1), turn(0.2, 0.2, 0.2)}),
                               group({turn(0.15, 0, 0.3)})};
  EXPECT_EQ(merge_overlapping(groups), 0);
  EXPECT_EQ(rewards(groups[0]), (std::vector<double>{0.1, 0.2}));
  EXPECT_EQ(rewards(groups[1]), (std::vector<double>{0.15}));
}

TEST(MeasuredRewards, TurnsAreComparedWithTheSameTurn) {
  Group one;
  one.trajectories = {{{turn(1, 0.9, 1.1), turn(5, 4, 6)}}, {{turn(4.5, 4, 5)}}};
  std::vector<Group> groups = {one};
  EXPECT_EQ(merge_overlapping(groups), 0);
}

TEST(MeasuredRewards, TheErrorsShareOfTheVariance) {
  // Rewards 0 and 2: a variance of 1. Standard errors of 0.5.
  const double half = 0.5 * 1.96;
  const std::vector<Group> noisy = {group({turn(0, -half, half), turn(2, 2 - half, 2 + half)})};
  EXPECT_DOUBLE_EQ(measurement_share(noisy), 0.25);
  const std::vector<Group> exact = {group({turn(0, 0, 0), turn(2, 2, 2)})};
  EXPECT_EQ(measurement_share(exact), 0);
  const std::vector<Group> equal = {group({turn(1, 0, 2), turn(1, 0, 2)})};
  EXPECT_EQ(measurement_share(equal), 0);
}

}  // namespace
}  // namespace kw::rollout
