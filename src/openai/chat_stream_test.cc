// Streams of many servers, whole and cut.
#include "openai/chat_stream.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::openai {
namespace {

// Whether the stream wanted more to the end.
bool feed(ChatStream& stream, const std::vector<std::string>& events) {
  return std::all_of(events.begin(), events.end(),
                     [&](const std::string& data) { return stream.take({"", data, ""}); });
}

std::string delta(const std::string& inner, const std::string& finish = "null", int index = 0) {
  return R"({"id":"c","model":"m","choices":[{"index":)" + std::to_string(index) + R"(,"delta":)" +
         inner + R"(,"finish_reason":)" + finish + "}]}";
}

TEST(ChatStream, Whole) {
  ChatStream stream(1000);
  EXPECT_TRUE(feed(stream, {delta(R"({"role":"assistant","content":""})"),
                            delta(R"({"reasoning_content":"hm"})"), delta(R"({"content":"a"})"), "",
                            delta(R"({"content":"b"})"), delta("{}", R"("stop")")}));
  EXPECT_TRUE(stream.whole());
  EXPECT_FALSE(feed(
      stream, {R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}})", "[DONE]"}));
  auto answer = stream.answer();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->choices.size(), 1U);
  EXPECT_EQ(answer->choices[0].text, "ab");
  EXPECT_EQ(answer->choices[0].reasoning, "hm");
  EXPECT_EQ(answer->choices[0].finish_reason, "stop");
  EXPECT_EQ(answer->id, "c");
  EXPECT_EQ(answer->model, "m");
  ASSERT_TRUE(answer->usage);
  EXPECT_EQ(answer->usage->completion_tokens, 2);
}

TEST(ChatStream, ChoicesAreKeptApart) {
  ChatStream stream(1000);
  EXPECT_TRUE(
      feed(stream, {delta(R"({"content":"b"})", "null", 1), delta(R"({"content":"a"})", "null", 0),
                    delta(R"({"content":"B"})", R"("length")", 1)}));
  EXPECT_FALSE(stream.whole());  // 0 has no end
  EXPECT_EQ(stream.partial(), "a");
  EXPECT_TRUE(feed(stream, {delta("{}", R"("stop")", 0)}));
  EXPECT_TRUE(stream.whole());
  auto answer = stream.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->choices[0].text, "a");
  EXPECT_EQ(answer->choices[1].text, "bB");
  EXPECT_EQ(answer->choices[1].finish_reason, "length");
}

TEST(ChatStream, CutIsNotWhole) {
  ChatStream stream(1000);
  EXPECT_FALSE(stream.whole());
  EXPECT_FALSE(stream.begun());
  feed(stream, {delta(R"({"content":"half an answ"})")});
  EXPECT_TRUE(stream.begun());
  EXPECT_FALSE(stream.whole());
  EXPECT_EQ(stream.partial(), "half an answ");
  EXPECT_EQ(stream.bytes(), 12U);
}

TEST(ChatStream, DoneWithoutAChoiceIsNoAnswer) {
  ChatStream stream(1000);
  feed(stream, {"[DONE]"});
  EXPECT_TRUE(stream.whole());
  auto answer = stream.answer();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().outcome, Outcome::kMalformed);
}

TEST(ChatStream, WhatIsNoEvent) {
  for (const char* data :
       {"{", "3", "hello", R"({"choices":3})", R"({"choices":[3]})",
        R"({"choices":[{"index":-1}]})", R"({"choices":[{"index":99999999999}]})",
        R"({"choices":[{"delta":{"content":3}}]})"}) {
    ChatStream stream(1000);
    EXPECT_FALSE(feed(stream, {data})) << data;
    ASSERT_TRUE(stream.failure()) << data;
    EXPECT_EQ(stream.failure()->outcome, Outcome::kMalformed) << data;
    EXPECT_FALSE(stream.whole());
    EXPECT_FALSE(feed(stream, {delta("{}", R"("stop")")})) << "nothing is taken after a failure";
  }
}

TEST(ChatStream, AnErrorInTheMiddle) {
  ChatStream stream(1000);
  feed(stream, {delta(R"({"content":"x"})"), R"({"error":{"message":"engine died","code":500}})"});
  ASSERT_TRUE(stream.failure());
  EXPECT_EQ(stream.failure()->outcome, Outcome::kServerError);
  EXPECT_EQ(stream.failure()->message, "engine died");
  ChatStream typed(1000);
  EXPECT_FALSE(typed.take({"error", R"({"message":"no","code":400})", ""}));
  EXPECT_EQ(typed.failure()->outcome, Outcome::kRefused);
}

TEST(ChatStream, TooLong) {
  ChatStream stream(10);
  EXPECT_TRUE(feed(stream, {delta(R"({"content":"0123456789"})")}));
  EXPECT_FALSE(feed(stream, {delta(R"({"reasoning_content":"x"})")}));
  ASSERT_TRUE(stream.failure());
  EXPECT_EQ(stream.failure()->outcome, Outcome::kTooLarge);
}

}  // namespace
}  // namespace kw::openai
