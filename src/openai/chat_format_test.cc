// Bodies of many servers, and of none.
#include "openai/chat_format.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::openai {
namespace {

using ::testing::HasSubstr;

ChatRequest usual() {
  ChatRequest request;
  request.model = "m";
  request.messages = {{"system", "s"}, {"user", "u"}};
  return request;
}

Json body_of(const ChatRequest& request, bool newer = false) {
  auto body = request_body(request, newer);
  EXPECT_TRUE(body) << body.error().message();
  return Json::parse(body.value());
}

TEST(ChatFormat, Request) {
  ChatRequest request = usual();
  EXPECT_EQ(
      body_of(request).dump(),
      R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],)"
      R"("max_tokens":4096,"temperature":1.0,"top_p":1.0,"stream":true,"stream_options":{"include_usage":true}})");
  request.stream = false;
  request.temperature.reset();
  request.top_p = 0.5;
  request.seed = 18446744073709551615ULL;
  request.stop = {"```\n"};
  request.n = 3;
  request.extra = {{"top_k", 20}, {"model", "other"}, {"seed", nullptr}};
  Json body = body_of(request, true);
  EXPECT_EQ(
      body.dump(),
      R"({"model":"other","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],)"
      R"("max_completion_tokens":4096,"top_p":0.5,"stop":["```\n"],"n":3,"top_k":20})");
}

TEST(ChatFormat, RequestThatCannotBeSent) {
  auto refusal = [](auto change) {
    ChatRequest request = usual();
    change(request);
    auto body = request_body(request, false);
    EXPECT_FALSE(body);
    EXPECT_EQ(body.error().code(), ErrorCode::kInvalidArgument);
    return body.error().message();
  };
  EXPECT_THAT(refusal([](ChatRequest& r) { r.model = ""; }), HasSubstr("model"));
  EXPECT_THAT(refusal([](ChatRequest& r) { r.messages.clear(); }), HasSubstr("messages"));
  EXPECT_THAT(refusal([](ChatRequest& r) { r.messages[1].content = "a\xff"; }),
              HasSubstr("messages[1].content: not UTF-8"));
  EXPECT_THAT(refusal([](ChatRequest& r) { r.n = 0; }), HasSubstr("n: expected 1"));
  EXPECT_THAT(refusal([](ChatRequest& r) { r.max_tokens = 0; }), HasSubstr("max_tokens"));
  EXPECT_THAT(refusal([](ChatRequest& r) { r.temperature = -1; }), HasSubstr("temperature"));
  EXPECT_THAT(refusal([](ChatRequest& r) { r.top_p = std::nan(""); }), HasSubstr("top_p"));
  EXPECT_THAT(refusal([](ChatRequest& r) { r.extra = 3; }), HasSubstr("extra"));
}

AnswerParts parts_of(const std::string& body) {
  auto answer = read_answer(body);
  EXPECT_TRUE(answer) << answer.error().message << "\n" << body;
  return answer ? *answer : AnswerParts{};
}

TEST(ChatFormat, AnswerOfOpenAI) {
  AnswerParts answer = parts_of(R"({"id": "chatcmpl-9", "object": "chat.completion", "model": "gpt",
    "choices": [{"index": 1, "message": {"role": "assistant", "content": "b", "refusal": null}, "finish_reason": "length"},
                {"index": 0, "message": {"role": "assistant", "content": "a"}, "logprobs": null, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
              "prompt_tokens_details": {"cached_tokens": 8, "audio_tokens": 0}}})");
  ASSERT_EQ(answer.choices.size(), 2U);
  EXPECT_EQ(answer.choices[0].text, "a");
  EXPECT_EQ(answer.choices[1].finish_reason, "length");
  EXPECT_EQ(answer.id, "chatcmpl-9");
  EXPECT_EQ(answer.model, "gpt");
  ASSERT_TRUE(answer.usage);
  EXPECT_EQ(answer.usage->prompt_tokens, 19);
  EXPECT_EQ(answer.usage->completion_tokens, 10);
  EXPECT_EQ(answer.usage->cached_tokens, 8);
}

TEST(ChatFormat, AnswersWithPartsMissing) {
  Choice choice =
      parts_of(R"({"choices": [{"message": {"content": null, "reasoning_content": "hm"}}]})")
          .choices.at(0);
  EXPECT_EQ(choice.text, "");
  EXPECT_EQ(choice.reasoning, "hm");
  EXPECT_EQ(choice.finish_reason, "");
  choice =
      parts_of(
          R"({"choices": [{"message": {"reasoning": "vLLM", "reasoning_content": null, "content": "x"}, "finish_reason": null}]})")
          .choices.at(0);
  EXPECT_EQ(choice.reasoning, "vLLM");
  EXPECT_EQ(choice.text, "x");
  EXPECT_EQ(parts_of(R"({"choices": [{"message": {}}]})").choices.at(0).text, "");
  EXPECT_EQ(
      parts_of(
          R"({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}}]})")
          .choices.at(0)
          .text,
      "ab");
  EXPECT_EQ(
      parts_of(
          R"({"error": null, "choices": [{"message": {"content": "x"}}, {"message": {"content": "y"}}]})")
          .choices.at(1)
          .index,
      1);
}

TEST(ChatFormat, UsageThatMakesNoSenseIsNone) {
  for (const char* usage : {"null", "{}", "3", "[]", R"({"prompt_tokens": 3})",
                            R"({"prompt_tokens": -1, "completion_tokens": 2})",
                            R"({"prompt_tokens": "1", "completion_tokens": 2})",
                            R"({"prompt_tokens": 1e300, "completion_tokens": 2})",
                            R"({"prompt_tokens": 1.5, "completion_tokens": 2})"}) {
    const std::string body =
        R"({"choices": [{"message": {"content": "x"}}], "usage": )" + std::string(usage) + "}";
    EXPECT_FALSE(parts_of(body).usage) << usage;
  }
  const std::string odd = R"({"choices": [{"message": {"content": "x"}}],
    "usage": {"prompt_tokens": 5.0, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 50}}})";
  ASSERT_TRUE(parts_of(odd).usage);
  EXPECT_EQ(parts_of(odd).usage->cached_tokens, 5);
}

TEST(ChatFormat, WhatIsNoAnswer) {
  for (
      const char* body :
      {"",
       "null",
       "[]",
       "3",
       "<html>busy</html>",
       "{",
       "{}",
       R"({"choices": null})",
       R"({"choices": []})",
       R"({"choices": {}})",
       R"({"choices": [3]})",
       R"({"choices": [{}]})",
       R"({"choices": [{"message": null}]})",
       R"({"choices": [{"message": {"content": 3}}]})",
       R"({"choices": [{"message": {"content": [3]}}]})",
       R"({"choices": [{"index": -1, "message": {"content": "x"}}]})",
       R"({"choices": [{"index": "0", "message": {"content": "x"}}]})",
       R"({"choices": [{"index": 1000000000000, "message": {"content": "x"}}]})",
       R"({"choices": [{"index": 0, "message": {"content": "x"}}, {"index": 0, "message": {"content": "y"}}]})",
       "{\"choices\": [{\"message\": {\"content\": \"\xff\"}}]}"}) {
    auto answer = read_answer(body);
    ASSERT_FALSE(answer) << body;
    EXPECT_EQ(answer.error().outcome, Outcome::kMalformed) << body;
    EXPECT_FALSE(answer.error().message.empty());
  }
}

TEST(ChatFormat, AnErrorInThePlaceOfAnAnswer) {
  auto outcome = [](const std::string& body) {
    auto answer = read_answer(body);
    EXPECT_FALSE(answer);
    return answer.error();
  };
  EXPECT_EQ(outcome(R"({"error": {"message": "overloaded", "code": 503}})").outcome,
            Outcome::kServerError);
  EXPECT_EQ(outcome(R"({"error": {"message": "slow down", "code": "429"}})").outcome,
            Outcome::kRateLimited);
  EXPECT_EQ(outcome(R"({"error": {"message": "bad", "code": 400}})").outcome, Outcome::kRefused);
  EXPECT_EQ(outcome(R"({"error": "engine is dead"})").outcome, Outcome::kServerError);
  EXPECT_EQ(outcome(R"({"error": "engine is dead"})").message, "engine is dead");
}

TEST(ChatFormat, ErrorsOfServers) {
  EXPECT_EQ(read_error(R"({"error": {"message": "a", "code": "x", "type": "t"}})").message, "a");
  EXPECT_EQ(read_error(R"({"error": {"message": "a", "code": "x", "type": "t"}})").code, "x");
  EXPECT_EQ(read_error(R"({"detail": "Not Found"})").message, "Not Found");
  EXPECT_EQ(read_error(R"({"detail": [{"loc": ["body"]}]})").message, R"([{"loc":["body"]}])");
  EXPECT_EQ(read_error(R"({"object": "error", "message": "b", "code": 404})").message, "b");
  EXPECT_EQ(read_error("  Bad Gateway\n").message, "Bad Gateway");
  EXPECT_EQ(read_error("").message, "");
}

TEST(ChatFormat, OutcomesOfStatuses) {
  auto of = [](int status) { return outcome_of(status, {}); };
  EXPECT_EQ(of(429), Outcome::kRateLimited);
  for (int status : {500, 502, 503, 504, 529, 599}) EXPECT_EQ(of(status), Outcome::kServerError);
  for (int status : {400, 401, 403, 404, 408, 409, 413, 422, 501, 505})
    EXPECT_EQ(of(status), Outcome::kRefused) << status;
  for (int status : {301, 302, 303, 307, 308}) EXPECT_EQ(of(status), Outcome::kRedirected);
  ServerError quota;
  quota.code = "insufficient_quota";
  EXPECT_EQ(outcome_of(429, quota), Outcome::kRefused);
}

TEST(ChatFormat, Models) {
  auto names = read_models(R"({"data": [{"id": "a"}, {"id": 3}, 4, {"id": "b"}]})");
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(read_models(R"({"data": {}})"));
  EXPECT_FALSE(read_models("x"));
}

}  // namespace
}  // namespace kw::openai
