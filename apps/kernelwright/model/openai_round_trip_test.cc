// Our client of OpenAI's API reads the answers of our server.
#include <gtest/gtest.h>

#include "openai/chat_format.h"
#include "openai/chat_stream.h"
#include "openai_server/answer_format.h"

namespace kw::front {
namespace {

using openai_server::ChoiceText;

const openai_server::AnswerHead kChat{true, "chatcmpl-1", 1700000000, "m"};

std::vector<ChoiceText> two_choices() {
  ChoiceText first, second;
  first.text = second.text = "h\xc3\xa9";
  first.finish = text::Finish::kStop;
  first.logprobs = {{{{1, -0.5, "h"}, {{1, -0.5, "h"}, {4, -2, "\xc3"}}},
                     {{2, -0.25, "\xc3"}, {{2, -0.25, "\xc3"}, {5, -3, "\xa9"}}},
                     {{3, 0, "\xa9"}, {}}}};
  second.index = 1;
  second.finish = text::Finish::kLength;
  return {first, second};
}

void expect_both(const openai::AnswerParts& answer) {
  ASSERT_EQ(answer.choices.size(), 2U);
  EXPECT_EQ(answer.choices[0].text, "h\xc3\xa9");
  EXPECT_EQ(answer.choices[0].finish_reason, "stop");
  EXPECT_EQ(answer.choices[1].finish_reason, "length");
  ASSERT_TRUE(answer.usage);
  EXPECT_EQ(answer.usage->prompt_tokens, 3);
  EXPECT_EQ(answer.usage->completion_tokens, 2);
  EXPECT_EQ(answer.id, "chatcmpl-1");
  EXPECT_EQ(answer.model, "m");
}

TEST(OpenAiRoundTrip, WholeAnswers) {
  auto whole = openai::read_answer(answer_json(kChat, two_choices(), {3, 2}).dump());
  ASSERT_TRUE(whole) << whole.error().message;
  expect_both(*whole);
}

TEST(OpenAiRoundTrip, Streams) {
  const std::vector<ChoiceText> choices = two_choices();
  openai::ChatStream stream(1000);
  for (const std::string& data :
       {first_event(kChat, 0, true), first_event(kChat, 1, true),
        choice_event(kChat, choices[0], true), choice_event(kChat, choices[1], true),
        usage_event(kChat, {3, 2})})
    EXPECT_TRUE(stream.take({"", data, ""})) << data;
  EXPECT_FALSE(stream.take({"", "[DONE]", ""}));
  auto streamed = stream.answer();
  ASSERT_TRUE(streamed) << streamed.error().message;
  expect_both(*streamed);
}

TEST(OpenAiRoundTrip, Errors) {
  auto failure = openai::read_answer(openai_server::error_json({429, "slow down"}).dump());
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.error().message, "slow down");
}

}  // namespace
}  // namespace kw::front
