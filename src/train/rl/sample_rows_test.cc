#include "train/rl/sample_rows.h"

#include <gtest/gtest.h>

namespace kw::train {
namespace {

rollout::Trajectory episode(std::uint64_t number, double reward) {
  rollout::Turn turn;
  turn.text = "answer " + std::to_string(number);
  turn.reward = reward;
  turn.tokens = {1, 2};
  turn.facts = {{"reward", {{"speed", reward}}}};
  return {{turn}, number};
}

TEST(SampleRows, ShowEachTaskBeforeASecondEpisodeOfOne) {
  const std::vector<rollout::Group> groups = {{"a", {episode(4, 1), episode(5, 2)}},
                                              {"b", {episode(6, 3), episode(7, 4)}}};
  auto numbers = [&](std::int64_t count) {
    std::vector<int> out;
    for (const Json& row : SampleRows(groups, count).rows(1, groups)) out.push_back(row["episode"]);
    return out;
  };
  EXPECT_EQ(numbers(0), std::vector<int>());
  EXPECT_EQ(numbers(2), (std::vector<int>{4, 6}));
  EXPECT_EQ(numbers(3), (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(numbers(9), (std::vector<int>{4, 5, 6, 7}));
}

TEST(SampleRows, SayWhatWasLearnt) {
  std::vector<rollout::Group> groups = {{"a", {episode(4, 1)}}, {"b", {episode(6, 3)}}};
  const SampleRows shown(groups, 2);
  groups.erase(groups.begin());  // a filter left it out
  groups[0].trajectories[0].turns[0].reward = 2.5;
  groups[0].trajectories[0].turns[0].advantages = {1, 2};
  const std::vector<Json> rows = shown.rows(9, groups);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0]["advantage"].is_null());
  EXPECT_TRUE(rows[0]["trained_reward"].is_null());
  EXPECT_EQ(rows[1], (Json{{"schema", 1},
                           {"step", 9},
                           {"task", "b"},
                           {"episode", 6},
                           {"turn", 0},
                           {"text", "answer 6"},
                           {"tokens", 2},
                           {"truncated", false},
                           {"reward", 3.0},
                           {"parts", {{"speed", 3.0}}},
                           {"facts", {{"reward", {{"speed", 3.0}}}}},
                           {"trained_reward", 2.5},
                           {"advantage", 1.5}}));
}

}  // namespace
}  // namespace kw::train
