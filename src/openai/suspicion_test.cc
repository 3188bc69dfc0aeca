// Answers of wrong chat templates.
#include "openai/suspicion.h"

#include <gtest/gtest.h>

namespace kw::openai {
namespace {

const std::string kTask =
    "Write a C++ kernel for the problem below. It gets x of shape [B, N] and returns the softmax "
    "over the last dimension, as float32. Answer with one code block and nothing else, please. "
    "Here is the interface: int run(const float* x, float* y, long rows, long columns);";
const std::vector<text::ChatMessage> kMessages = {
    {"system", "You are an engineer who writes fast and correct kernels."}, {"user", kTask}};

TEST(Suspicion, AnswersOfModelsAreNone) {
  for (const std::string& text :
       {std::string("```cpp\nint run() { return 0; }\n```"), std::string("hello"),
        std::string("You asked for a softmax kernel. ") + kTask.substr(0, 60),
        "Here is a long plan that comes before what the user said, as reasoning models do.\n" +
            kTask})
    EXPECT_EQ(suspect(text, kMessages), Suspicion::kNone) << text;
  // A greeting that is answered alike is no echo.
  EXPECT_EQ(suspect("hello", {{"user", "hello"}}), Suspicion::kNone);
}

TEST(Suspicion, Empty) {
  EXPECT_EQ(suspect("", kMessages), Suspicion::kEmpty);
  EXPECT_EQ(suspect(" \n\t", kMessages), Suspicion::kEmpty);
}

TEST(Suspicion, ThePromptComesBack) {
  EXPECT_EQ(suspect(kTask, kMessages), Suspicion::kPromptEcho);
  EXPECT_EQ(suspect("\n\nuser\n" + kTask + "\nassistant\nsure", kMessages), Suspicion::kPromptEcho);
  EXPECT_EQ(suspect(kMessages[0].content + "\n" + kTask, kMessages), Suspicion::kPromptEcho);
  EXPECT_EQ(suspect(kTask.substr(0, 220), kMessages), Suspicion::kPromptEcho);
  // What the assistant said before may be said again.
  const std::string before = "int run(const float* x, float* y) { return 0; } // the first try";
  EXPECT_EQ(suspect(before, {{"user", kTask}, {"assistant", before}, {"user", "again"}}),
            Suspicion::kNone);
}

TEST(Suspicion, TokensOfATemplate) {
  EXPECT_EQ(suspect("sure<|im_end|>\n<|im_start|>user\nand", kMessages),
            Suspicion::kTemplateTokens);
  EXPECT_EQ(suspect("x<|eot_id|>", kMessages), Suspicion::kTemplateTokens);
  // Somebody who asks about them gets them.
  EXPECT_EQ(suspect("ChatML ends with <|im_end|>.", {{"user", "What does <|im_end|> mean?"}}),
            Suspicion::kNone);
}

}  // namespace
}  // namespace kw::openai
