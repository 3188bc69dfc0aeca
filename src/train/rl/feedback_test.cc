#include "train/rl/feedback.h"

#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"

namespace kw::train {
namespace {

rollout::Turn turn_of(std::string text, double reward, Json facts = Json::object()) {
  rollout::Turn out;
  out.text = std::move(text);
  out.tokens = {1, 2, 3};
  out.reward = reward;
  out.facts = std::move(facts);
  return out;
}

class Feedback : public testing::Test {
 protected:
  // An episode of one turn.
  void add(rollout::Turn turn) {
    rollout::Trajectory one;
    one.number = groups_[0].trajectories.size() + 10;
    one.turns.push_back(std::move(turn));
    conversations_[one.number] = {{{"system", "Be brief."}, {"user", "Add one."}}};
    groups_[0].trajectories.push_back(std::move(one));
  }
  FeedbackCounts fill(FeedbackSettings settings) {
    return fill_teacher_contexts(groups_, conversations_, chat_, settings).value();
  }
  std::string read(std::size_t episode) const {
    const auto& context = groups_[0].trajectories[episode].turns[0].teacher_context;
    return tokenizer_.decode(std::vector<lm::TokenId>(context.begin(), context.end()), false);
  }

  Json config_ = {{"eos_token", "<|im_end|>"}};
  lm::Tokenizer tokenizer_ =
      lm::Tokenizer::from_json(lm::testing::tokenizer_json({}), &config_).value();
  ChatEncoder chat_{tokenizer_};
  std::vector<rollout::Group> groups_{{"task", {}}};
  Conversations conversations_;
};

TEST_F(Feedback, AnAnswerThatFailedIsTaughtByARightOneAndByTheEnvironment) {
  add(turn_of("x - 1", 0, {{"feedback", "off by two"}}));
  add(turn_of("x + 1", 1));
  add(turn_of("1 + x", 1.5));
  add(turn_of("", 0.5));
  const FeedbackCounts counts = fill({.reward = 1, .max_tokens = 999});
  EXPECT_EQ(counts.failed, 2);
  EXPECT_EQ(counts.no_room, 0);
  EXPECT_EQ(read(0),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAdd one.\n\n"
            "A correct answer:\n\n1 + x\n\n"
            "Feedback on an earlier answer, which failed:\n\noff by two\n\n"
            "Answer the original question correctly.<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(read(1), "");
  EXPECT_EQ(read(2), "");
  EXPECT_EQ(read(3).find("off by two"), std::string::npos);
  EXPECT_NE(read(3).find("1 + x"), std::string::npos);
}

TEST_F(Feedback, OneSourceLeavesTheOtherOut) {
  add(turn_of("x - 1", 0, {{"diagnostic", "line 3"}}));
  add(turn_of("x", 0));
  add(turn_of("x + 1", 1));
  fill({.answer = false, .reward = 1, .max_tokens = 999});
  EXPECT_EQ(read(0).find("x + 1"), std::string::npos);
  EXPECT_NE(read(0).find("line 3"), std::string::npos);
  EXPECT_EQ(read(1), "");  // nobody said anything
  fill({.environment = false, .reward = 1, .max_tokens = 999});
  EXPECT_EQ(read(0).find("line 3"), std::string::npos);
  EXPECT_NE(read(1).find("x + 1"), std::string::npos);
}

TEST_F(Feedback, TheEnvironmentsWordIsStrongerThanTheReward) {
  EXPECT_TRUE(has_failed(turn_of("", 2, {{"progress", "compiled"}, {"outcome", "failed"}}), 1));
  EXPECT_FALSE(has_failed(turn_of("", 0, {{"progress", "correct"}, {"outcome", "passed"}}), 1));
  EXPECT_TRUE(has_failed(turn_of("", 0.9), 1));
  EXPECT_EQ(feedback_of({{"why_not", "no code"}, {"outcome", "failed"}}), "no code");
  EXPECT_EQ(feedback_of({{"feedback", 3}}), "");
  EXPECT_EQ(feedback_of(3), "");
}

TEST_F(Feedback, WhatHasNoRoomIsCounted) {
  add(turn_of("x", 0, {{"feedback", "no"}}));
  EXPECT_EQ(fill({.max_tokens = 40}).no_room, 1);
  EXPECT_EQ(read(0), "");
}

}  // namespace
}  // namespace kw::train
