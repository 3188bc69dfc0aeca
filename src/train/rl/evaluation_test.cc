#include "train/rl/evaluation.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kw::train {
namespace {

rollout::Trajectory episode(double reward, const Json& facts) {
  rollout::Turn turn;
  turn.reward = reward;
  turn.tokens = {1, 2};
  turn.facts = facts;
  return {{turn}};
}

Json measured(double low, double median, double high) {
  return {{"progress", "correct"}, {"outcome", "passed"}, {"speedup", {median, low, high}}};
}

TEST(Evaluation, MeansHaveTheIntervalOfTheirMeasurements) {
  Played played;
  const double e = std::exp(1.0), wide = std::exp(0.3), narrow = std::exp(0.4);
  played.groups = {{"a", {episode(1, measured(e / wide, e, e * wide))}},
                   {"b",
                    {episode(0, measured(1 / narrow, 1, narrow)),
                     episode(-2, {{"progress", "compiled"}, {"outcome", "wrong_value"}})}}};
  played.episodes = 4;
  played.without_reward = 1;
  const Json row = evaluation_row(30, played, 2.5);
  EXPECT_EQ(row["step"], 30);
  EXPECT_EQ(row["without_reward"], 1);
  EXPECT_NEAR(row["reward"].get<double>(), -1.0 / 3, 1e-12);
  EXPECT_NEAR(row["correct"].get<double>(), 2.0 / 3, 1e-12);
  EXPECT_EQ(row["measured"], 2);
  EXPECT_NEAR(row["log_speedup"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(row["log_speedup_interval"][0].get<double>(), 0.25, 1e-12);  // 0.5 - 0.5 / 2
  EXPECT_NEAR(row["log_speedup_interval"][1].get<double>(), 0.75, 1e-12);
  EXPECT_NEAR(row["tasks"]["a"]["log_speedup"].get<double>(), 1, 1e-12);
  EXPECT_NEAR(row["tasks"]["b"]["reward"].get<double>(), -1, 1e-12);
}

TEST(Evaluation, WhatNoAnswerSaidIsNull) {
  Played played;
  played.groups = {{"a", {}}, {"b", {episode(0.5, {{"speedup", {1, 0, 2}}})}}};
  const Json row = evaluation_row(0, played, 1);
  EXPECT_EQ(row["reward"], 0.5);
  EXPECT_TRUE(row["correct"].is_null());
  EXPECT_TRUE(row["log_speedup"].is_null());
  EXPECT_TRUE(row["log_speedup_interval"].is_null());
  EXPECT_TRUE(row["tasks"]["a"]["reward"].is_null());
}

}  // namespace
}  // namespace kw::train
