// Advantages against groups worked by hand, and their expectation on a bandit against its exact
// gradient: all outcomes are enumerated with their probabilities, so nothing is sampled.
#include "rollout/advantage.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace kw::rollout {
namespace {

// One trajectory; each turn has `length` tokens.
Trajectory paid(const std::vector<double>& rewards, std::size_t length = 2) {
  Trajectory out;
  for (double reward : rewards) {
    Turn turn;
    turn.tokens.assign(length, 7);
    turn.reward = reward;
    out.turns.push_back(turn);
  }
  return out;
}

Group group_of(std::vector<Trajectory> trajectories) {
  return {"g", std::move(trajectories)};
}

// Advantages of the first token of each turn, trajectory by trajectory.
std::vector<double> filled(Group group, const AdvantageSettings& settings) {
  fill_advantages({&group, 1}, settings);
  std::vector<double> out;
  for (const Trajectory& one : group.trajectories) {
    for (const Turn& turn : one.turns) {
      EXPECT_EQ(turn.advantages.size(), turn.tokens.size());
      out.push_back(turn.advantages.at(0));
    }
  }
  return out;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-9) << i;
}

// Returns 1, 0, 0, 1, 3: mean 1, squared deviations 0 + 1 + 1 + 0 + 4 = 6.
const std::vector<Trajectory> kFive = {paid({1}), paid({0}), paid({0}), paid({0, 1}), paid({3})};

TEST(Advantage, GrpoDividesByEitherDeviation) {
  AdvantageSettings s{.estimator = Estimator::kGrpo, .deviation = Deviation::kPopulation};
  s.epsilon = 0;
  const double population = std::sqrt(6.0 / 5), sample = std::sqrt(6.0 / 4);
  expect_near(filled(group_of(kFive), s),
              {0, -1 / population, -1 / population, 0, 0, 2 / population});
  s.deviation = Deviation::kSample;
  expect_near(filled(group_of(kFive), s), {0, -1 / sample, -1 / sample, 0, 0, 2 / sample});
}

TEST(Advantage, GrpoOfEqualReturnsIsZero) {
  expect_near(filled(group_of({paid({2}), paid({2})}), {.estimator = Estimator::kGrpo}), {0, 0});
  expect_near(filled(group_of({paid({2})}), {.estimator = Estimator::kGrpo}), {0});
}

TEST(Advantage, RlooSubtractsTheMeanOfTheOthers) {
  const AdvantageSettings s{.estimator = Estimator::kRloo};
  // 1 - 4/4, 0 - 5/4, 0 - 5/4, 1 - 4/4 twice, 3 - 2/4
  expect_near(filled(group_of(kFive), s), {0, -1.25, -1.25, 0, 0, 2.5});
  expect_near(filled(group_of(kFive), {.estimator = Estimator::kDrGrpo}), {0, -1, -1, 0, 0, 2});
}

TEST(Advantage, TrlooComparesTurnsOfOneNumber) {
  // Turn 0 returns: 1 + 2 = 3, 4, 0 + 1 + 8 = 9. Turn 1: 2, 9. Turn 2: 8 alone.
  const Group group = group_of({paid({1, 2}), paid({4}), paid({0, 1, 8})});
  AdvantageSettings s{.estimator = Estimator::kTrloo};
  expect_near(filled(group, s), {3 - 6.5, 2 - 9.0, 4 - 6.0, 9 - 3.5, 9 - 2.0, 0});
  s.singleton = Singleton::kWholeReturn;
  expect_near(filled(group, s), {3 - 6.5, 2 - 9.0, 4 - 6.0, 9 - 3.5, 9 - 2.0, 8});
  s.discount = 0.5;  // turn 0: 2, 4, 0 + .5 + 2 = 2.5; turn 1: 2, 1 + 4 = 5
  expect_near(filled(group, s), {2 - 3.25, 2 - 5.0, 4 - 2.25, 2.5 - 3.0, 5 - 2.0, 8});
}

TEST(Advantage, ReinforcePlusPlusWhitensTokensOfTheBatch) {
  Trajectory first = paid({4}, 2), second = paid({-2}, 1);
  first.turns[0].token_rewards = {-1, -0.5};
  std::vector<Group> groups = {group_of({first}), group_of({second})};
  AdvantageSettings s{.estimator = Estimator::kReinforcePlusPlus, .epsilon = 0};
  s.token_discount = 0.5;
  fill_advantages(groups, s);
  // Token returns: 4 - 0.5 = 3.5; 0.5 * 3.5 - 1 = 0.75; -2. Mean 0.75, squares 7.5625 twice.
  const double scale = 1 / std::sqrt(2 * 2.75 * 2.75 / 3);
  const std::vector<double>& got = groups[0].trajectories[0].turns[0].advantages;
  expect_near(got, {0, 2.75 * scale});
  expect_near(groups[1].trajectories[0].turns[0].advantages, {-2.75 * scale});
}

TEST(Advantage, BaselineOfReinforcePlusPlusIsTheGroups) {
  std::vector<Group> groups = {group_of({paid({1}), paid({3})}),
                               group_of({paid({10}), paid({10})})};
  fill_advantages(groups, {.estimator = Estimator::kReinforcePlusPlusBaseline, .epsilon = 0});
  // -1, 1, 0, 0, twice each: mean 0, deviation sqrt(1/2).
  EXPECT_NEAR(groups[0].trajectories[1].turns[0].advantages[1], std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(groups[1].trajectories[0].turns[0].advantages[0], 0, 1e-12);
}

TEST(Advantage, RangesAreChecked) {
  EXPECT_TRUE(check(AdvantageSettings{}));
  EXPECT_FALSE(check(AdvantageSettings{.epsilon = -1}));
  EXPECT_FALSE(check(AdvantageSettings{.discount = 1.5}));
  EXPECT_FALSE(check(AdvantageSettings{.token_discount = std::nan("")}));
}

// A policy chooses arm 1 with probability p at turn 0 and q at turn 1; arm 0 at turn 0 ends the
// trajectory. Rewards: arm 1 of turn 0 costs 0.3, turn 1 pays 2 for arm 1 and 0.5 for arm 0, and
// stopping pays 1. Parameters are the logits of p and q.
constexpr double kP = 0.7, kQ = 0.35;
struct Outcome {
  Trajectory trajectory;
  double probability = 0;
  std::array<double, 2> score{};  // derivative of the log-probability of each turn by its logit
};
std::vector<Outcome> outcomes() {
  return {{paid({1}, 1), 1 - kP, {-kP, 0}},
          {paid({-0.3, 0.5}, 1), kP * (1 - kQ), {1 - kP, -kQ}},
          {paid({-0.3, 2}, 1), kP * kQ, {1 - kP, 1 - kQ}}};
}
// d/dlogit of the expected return: p (1-p) (value of going on - 1), and p q (1-q) (2 - 0.5).
std::array<double, 2> exact_gradient() {
  const double on = -0.3 + kQ * 2 + (1 - kQ) * 0.5;
  return {kP * (1 - kP) * (on - 1), kP * kQ * (1 - kQ) * 1.5};
}

// The expectation of (1/N) sum over trajectories and turns of advantage times score.
std::array<double, 2> expected_gradient(int n, const AdvantageSettings& settings) {
  const std::vector<Outcome> all = outcomes();
  std::array<double, 2> out{};
  std::vector<std::size_t> choice(static_cast<std::size_t>(n), 0);
  for (bool more = true; more;) {
    Group group;
    double probability = 1;
    for (std::size_t one : choice) {
      group.trajectories.push_back(all[one].trajectory);
      probability *= all[one].probability;
    }
    fill_advantages({&group, 1}, settings);
    for (std::size_t i = 0; i < choice.size(); ++i)
      for (std::size_t t = 0; t < group.trajectories[i].turns.size(); ++t)
        out[t] += probability / n * group.trajectories[i].turns[t].advantages[0] *
                  all[choice[i]].score[t];
    more = false;
    for (std::size_t& one : choice) {
      if (++one < all.size()) {
        more = true;
        break;
      }
      one = 0;
    }
  }
  return out;
}

TEST(Advantage, RlooAndTrlooAreUnbiasedAndGrpoIsNot) {
  const std::array<double, 2> exact = exact_gradient();
  ASSERT_GT(std::abs(exact[0]), 0.01);
  for (int n : {2, 3, 5}) {
    SCOPED_TRACE(n);
    const auto rloo = expected_gradient(n, {.estimator = Estimator::kRloo});
    const auto trloo = expected_gradient(
        n, {.estimator = Estimator::kTrloo, .singleton = Singleton::kWholeReturn});
    const auto mean = expected_gradient(n, {.estimator = Estimator::kDrGrpo});
    for (std::size_t t : {0U, 1U}) {
      EXPECT_NEAR(rloo[t], exact[t], 1e-12);
      EXPECT_NEAR(trloo[t], exact[t], 1e-12);
      EXPECT_NEAR(mean[t], exact[t] * (n - 1) / n, 1e-12);  // the known shrinkage
    }
    // Dividing by the deviation changes the direction: the turns are scaled by different factors.
    const auto grpo = expected_gradient(n, {.estimator = Estimator::kGrpo});
    EXPECT_GT(std::abs(grpo[0] / exact[0] - grpo[1] / exact[1]), 0.01);
    // With `zero` a singleton's share of the gradient is missing at turn 1, where buckets shrink.
    const auto zero = expected_gradient(n, {.estimator = Estimator::kTrloo});
    EXPECT_NEAR(zero[0], exact[0], 1e-12);
    EXPECT_NEAR(zero[1], exact[1] * (1 - std::pow(1 - kP, n - 1)), 1e-12);
  }
}

}  // namespace
}  // namespace kw::rollout
