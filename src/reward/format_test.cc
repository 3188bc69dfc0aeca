// The edge cases of the original function, each with its result.
#include "reward/format.h"

#include <gtest/gtest.h>

namespace kw::reward {
namespace {

void expect_format(std::string_view completion, double reward,
                   const std::optional<std::string>& code, std::string_view end_of_text = {}) {
  Format found = format_reward(completion, end_of_text);
  EXPECT_EQ(found.reward, reward) << completion;
  EXPECT_EQ(found.code, code) << completion;
}

TEST(FormatReward, Levels) {
  expect_format("plan</think><answer>```python\nx = 1\n```</answer>", 1, "x = 1");
  expect_format("plan</think>\n```python\nx = 1\n```", 1, "x = 1");
  expect_format("plan</think>\n```\nx = 1\n```", 1, "x = 1");
  expect_format("plan</think>\nno code", 0.5, std::nullopt);
  expect_format("plan</think>\n```python\nx = 1\n", 0.5, std::nullopt);
  expect_format("plan</think>\n``````", 0.5, "");
  expect_format("plan</think>\n```python```", 0.5, "");
  expect_format("plan</think>\n``` \n ```", 0.5, "");
  expect_format("plan", 0, std::nullopt);
  expect_format("", 0, std::nullopt);
}

TEST(FormatReward, BlankReasoningStillGivesItsCode) {
  expect_format("</think>```x```", 0, "x");
  expect_format(" \n\t</think>```python\nx```", 0, "x");
  expect_format("\xC2\xA0</think>```x```", 0, "x");
  EXPECT_EQ(format_and_similarity_reward("</think>```x```", "x"), 1);
}

TEST(FormatReward, ReasoningTags) {
  expect_format("a<think>b</think>```x```", 0, std::nullopt);
  expect_format("<think>b</think>```x```", 0, std::nullopt);
  expect_format("plan</think>```x```</think>", 1, "x");
  expect_format("plan</think><think>```x```", 1, "x");
  expect_format("a < b <thinking> </thinking></think>```x```", 1, "x");
  expect_format("a <THINK> b</think>```x```", 1, "x");
  expect_format("```x```", 0, std::nullopt);
  expect_format("```y```</think>```x```", 1, "x");
}

TEST(FormatReward, CodeIsTheFirstPairOfFences) {
  expect_format("p</think>use ```triton``` now\n```python\nx\n```", 1, "triton");
  expect_format("p</think>```triton\nx\n```", 1, "triton\nx");
  expect_format("p</think>```Python\nx\n```", 1, "Python\nx");
  expect_format("p</think>```pythonx```", 1, "x");
  expect_format("p</think>```python3\nx```", 1, "3\nx");
  expect_format("p</think>``` python x```", 1, "x");
  expect_format("p</think>````\nx\n````", 1, "`\nx");
}

TEST(FormatReward, OneEndOfTextIsDropped) {
  expect_format("p</think>```x```<eos>", 1, "x", "<eos>");
  expect_format("p</think><eos>", 0.5, std::nullopt, "<eos>");
  expect_format("</think></think>", 0, std::nullopt, "</think>");
  expect_format("p</think></think>", 0.5, std::nullopt, "</think>");
  expect_format("p</think>", 0, std::nullopt, "</think>");
}

TEST(FormatReward, Sum) {
  EXPECT_EQ(format_and_similarity_reward("p</think>```python\nabcd```", "bcde"), 1.75);
  EXPECT_EQ(format_and_similarity_reward("p</think>", "bcde"), 0.5);
  EXPECT_EQ(format_and_similarity_reward("p</think>```abcd```", ""), 1);
  EXPECT_EQ(format_and_similarity_reward("", "bcde"), 0);
}

}  // namespace
}  // namespace kw::reward
