#include "environment/toy_environment.h"

#include <gtest/gtest.h>

namespace kw::environment {
namespace {

Answer answer(std::string text) {
  Answer out;
  out.text = std::move(text);
  return out;
}

TEST(Toy, TheRewardIsTheByteShare) {
  auto toy = ToyEnvironment::make({.bytes = "ab"}).value();
  EXPECT_EQ(toy->tasks(), (std::vector<std::string>{"a", "b"}));
  const std::vector<std::pair<std::string, double>> cases = {
      {"aaaa", 1}, {"aabb", 0.5}, {"xa xa", 0.4}, {"b", 0}, {"", 0}};
  for (const auto& [text, reward] : cases) {
    auto episode = toy->begin("a", {}).value();
    EXPECT_NE(episode->observation().messages.at(0).content.find("letter a"), std::string::npos);
    const Step step = episode->step(answer(text), {}).value();
    EXPECT_DOUBLE_EQ(step.reward, reward) << text;
    EXPECT_TRUE(step.done);
    EXPECT_EQ(step.facts["feedback"], fmt::format("{:.0f} of 100 were a.", reward * 100));
  }
}

TEST(Toy, ALaterTurnTellsTheShareAndFollowsOnTheConversation) {
  auto toy = ToyEnvironment::make({.bytes = "a", .turns = 2}).value();
  auto episode = toy->begin("a", {}).value();
  EXPECT_TRUE(episode->observation().whole);
  const Step first = episode->step(answer("abab"), {}).value();
  EXPECT_FALSE(first.done);
  EXPECT_FALSE(first.next.whole);
  EXPECT_EQ(first.next, episode->observation());
  EXPECT_NE(first.next.messages.at(0).content.find("50 of 100"), std::string::npos);
  const Step last = episode->step(answer("aa"), {}).value();
  EXPECT_TRUE(last.done);
  EXPECT_DOUBLE_EQ(last.reward, 1);
}

TEST(Toy, AStopIsAnErrorAndNoReward) {
  auto toy = ToyEnvironment::make({}).value();
  auto episode = toy->begin("a", {}).value();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(episode->step(answer("a"), stop.get_token()).error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(toy->begin("a", stop.get_token()).error().code(), ErrorCode::kCancelled);
  // The episode is as it was.
  EXPECT_DOUBLE_EQ(episode->step(answer("a"), {}).value().reward, 1);
}

TEST(Toy, SettingsAndTasksAreChecked) {
  for (const ToySettings& bad : std::vector<ToySettings>{
           {.bytes = ""}, {.bytes = "aa"}, {.bytes = "a b"}, {.bytes = "a", .turns = 0}})
    EXPECT_EQ(ToyEnvironment::make(bad).error().code(), ErrorCode::kInvalidArgument) << bad.bytes;
  auto toy = ToyEnvironment::make({}).value();
  EXPECT_EQ(toy->begin("b", {}).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(toy->begin("", {}).error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kw::environment
