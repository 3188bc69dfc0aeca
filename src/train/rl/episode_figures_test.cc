#include "train/rl/episode_figures.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kw::train {
namespace {

rollout::Turn turn(std::string text, double reward, std::size_t tokens, Json facts) {
  rollout::Turn out;
  out.text = std::move(text);
  out.reward = reward;
  out.tokens.assign(tokens, 7);
  out.facts = std::move(facts);
  return out;
}

TEST(EpisodeFigures, AreMeansOverEpisodesAndAnswers) {
  const Json right = {{"progress", "correct"}, {"outcome", "passed"}, {"reward", {{"log", 1.0}}}};
  const Json wrong = {{"progress", "compiled"}, {"outcome", "wrong_value"}};
  rollout::Group group;
  group.trajectories = {{{turn("a", 1, 2, right), turn("a", 2, 4, right)}},
                        {{turn("b", 1, 6, wrong)}}};
  group.trajectories[1].turns[0].truncated = true;
  const EpisodeFigures out = episode_figures({&group, 1});
  EXPECT_DOUBLE_EQ(out.reward, 2);  // of (1 + 2) and 1
  EXPECT_DOUBLE_EQ(out.reward_deviation, 1);
  EXPECT_DOUBLE_EQ(out.truncated, 1.0 / 3);
  EXPECT_DOUBLE_EQ(out.answer_tokens, 4);
  EXPECT_DOUBLE_EQ(out.distinct, 2.0 / 3);
  EXPECT_EQ(out.tokens, 12);
  EXPECT_DOUBLE_EQ(out.parts.at("log"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(out.correct.value(), 2.0 / 3);
}

TEST(EpisodeFigures, OfNothingAreZero) {
  const rollout::Group empty;
  const EpisodeFigures out = episode_figures({&empty, 1});
  EXPECT_EQ(out.reward, 0);
  EXPECT_EQ(out.answer_tokens, 0);
  EXPECT_FALSE(out.correct);
}

// Another process may answer in any form.
TEST(EpisodeFigures, FactsOfAnyFormAreRead) {
  for (const Json& facts : {Json(), Json(3), Json{{"reward", 3}}, Json{{"reward", {{"a", "b"}}}}})
    EXPECT_TRUE(reward_parts(facts).empty()) << facts.dump();
  EXPECT_FALSE(is_correct(Json::array({1})));
  EXPECT_FALSE(is_correct({{"share", 0.5}}));
  EXPECT_FALSE(is_correct({{"progress", "nothing"}}).value());
  EXPECT_FALSE(is_correct({{"progress", "correct"}, {"outcome", 3}}).value());
}

TEST(Staleness, IsOverTokens) {
  rollout::Group group;
  group.trajectories = {{{turn("a", 1, 3, {}), turn("a", 1, 1, {})}}};
  group.trajectories[0].turns[0].versions = {4, 4, 4};
  group.trajectories[0].turns[1].versions = {6};
  const Staleness out = staleness_of({&group, 1}, 6);
  EXPECT_DOUBLE_EQ(out.mean, 1.5);
  EXPECT_EQ(out.largest, 2);
  EXPECT_EQ(staleness_of({}, 6).largest, 0);
}

TEST(AdvantageFigures, CountWhatWasLeftOutAsZero) {
  rollout::Group group;
  group.trajectories = {{{turn("a", 1, 2, {})}}, {{turn("b", 1, 2, {})}}};
  group.trajectories[0].turns[0].advantages = {3, 1};
  group.trajectories[1].turns[0].advantages = {-2, 0};
  const AdvantageFigures out = advantage_figures({&group, 1}, 12);
  EXPECT_DOUBLE_EQ(out.mean, 0.5);
  EXPECT_DOUBLE_EQ(out.magnitude, 1.5);
  EXPECT_DOUBLE_EQ(out.deviation, std::sqrt(3.5 - 0.25));
  EXPECT_DOUBLE_EQ(out.zero_share, 0.75);
  EXPECT_EQ(advantage_figures({}, 12).zero_share, 1);
}

}  // namespace
}  // namespace kw::train
