// The shapes of OpenAI's answers.
#include "openai_server/answer_format.h"

#include <gtest/gtest.h>

namespace kw::openai_server {
namespace {

const AnswerHead kChat{true, "chatcmpl-1", 1700000000, "m"};
const AnswerHead kText{false, "cmpl-1", 1700000000, "m"};

ChoiceText example(bool with_logprobs) {
  ChoiceText choice;
  choice.index = 1;
  choice.text = "h\xc3\xa9";
  choice.finish = text::Finish::kLength;
  if (with_logprobs)
    choice.logprobs = {{{{1, -0.5, "h"}, {{1, -0.5, "h"}, {4, -2, "\xc3"}}},
                        {{2, -0.25, "\xc3"}, {{2, -0.25, "\xc3"}, {5, -3, "\xa9"}}},
                        {{3, 0, "\xa9"}, {}}}};
  return choice;
}

TEST(OpenAiAnswer, Chat) {
  EXPECT_EQ(answer_json(kChat, {example(false)}, {3, 2}), Json::parse(R"({
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m",
    "choices": [{"index": 1, "message": {"role": "assistant", "content": "h\u00e9", "refusal": null}, "logprobs": null,
                 "finish_reason": "length"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}})"));
}

TEST(OpenAiAnswer, Completion) {
  ChoiceText choice = example(false);
  choice.finish = text::Finish::kStop;
  choice.token_ids = std::vector<std::int32_t>{1, 2, 3};
  EXPECT_EQ(answer_json(kText, {choice}, {3, 2}), Json::parse(R"({
    "id": "cmpl-1", "object": "text_completion", "created": 1700000000, "model": "m",
    "choices": [{"index": 1, "text": "h\u00e9", "logprobs": null, "finish_reason": "stop", "token_ids": [1, 2, 3]}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}})"));
}

TEST(OpenAiAnswer, LogprobsOfAChat) {
  const Json answer = answer_json(kChat, {example(true)}, {});
  EXPECT_EQ(answer["choices"][0]["logprobs"]["content"], Json::parse(R"([
    {"token": "h", "logprob": -0.5, "bytes": [104],
     "top_logprobs": [{"token": "h", "logprob": -0.5, "bytes": [104]}, {"token": "\ufffd", "logprob": -2.0, "bytes": [195]}]},
    {"token": "\ufffd", "logprob": -0.25, "bytes": [195],
     "top_logprobs": [{"token": "\ufffd", "logprob": -0.25, "bytes": [195]}, {"token": "\ufffd", "logprob": -3.0, "bytes": [169]}]},
    {"token": "\ufffd", "logprob": 0.0, "bytes": [169], "top_logprobs": []}])"));
}

TEST(OpenAiAnswer, LogprobsOfACompletion) {
  ChoiceText choice = example(true);
  choice.text_offset = 10;
  const Json answer = answer_json(kText, {choice}, {});
  EXPECT_EQ(answer["choices"][0]["logprobs"], Json::parse(R"({
    "tokens": ["h", "\ufffd", "\ufffd"], "token_logprobs": [-0.5, -0.25, 0.0],
    "top_logprobs": [{"h": -0.5, "bytes:\\xc3": -2.0}, {"bytes:\\xc3": -0.25, "bytes:\\xa9": -3.0}, {}], "text_offset": [10, 11, 12]})"));
  EXPECT_EQ(characters_of(*choice.logprobs), 3U);
}

// An added token may read as a token of the vocabulary: none of the two is lost.
TEST(OpenAiAnswer, LikeliestTokensOfEqualText) {
  ChoiceText choice = example(true);
  choice.logprobs = {{{{1, -0.5, "h"}, {{1, -0.5, "h"}, {7, -1, "h"}, {8, -2, "h"}}}}};
  const Json answer = answer_json(kText, {choice}, {});
  EXPECT_EQ(answer["choices"][0]["logprobs"]["top_logprobs"][0],
            Json::parse(R"({"h": -0.5, "token_id:7": -1.0, "token_id:8": -2.0})"));
}

TEST(OpenAiAnswer, EventsOfAChat) {
  EXPECT_EQ(Json::parse(first_event(kChat, 2, false)), Json::parse(R"({
    "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m",
    "choices": [{"index": 2, "delta": {"role": "assistant", "content": ""}, "logprobs": null, "finish_reason": null}]})"));
  ChoiceText piece;
  piece.text = "a";
  EXPECT_EQ(Json::parse(choice_event(kChat, piece, true)), Json::parse(R"({
    "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m",
    "choices": [{"index": 0, "delta": {"content": "a"}, "logprobs": null, "finish_reason": null}], "usage": null})"));
  EXPECT_EQ(Json::parse(usage_event(kChat, {1, 2}))["choices"], Json::array());
  EXPECT_EQ(Json::parse(usage_event(kChat, {1, 2}))["usage"]["total_tokens"], 3);
}

TEST(OpenAiAnswer, EventsOfACompletion) {
  const Json event = Json::parse(choice_event(kText, example(false), false));
  EXPECT_EQ(event["object"], "text_completion");
  EXPECT_EQ(event["choices"][0]["text"], "h\xc3\xa9");
  EXPECT_EQ(event["choices"][0]["finish_reason"], "length");
  EXPECT_FALSE(event.contains("usage"));
}

TEST(OpenAiAnswer, Errors) {
  EXPECT_EQ(error_json({404, "no", "model", "model_not_found"}), Json::parse(R"({"error":
    {"message": "no", "type": "invalid_request_error", "param": "model", "code": "model_not_found"}})"));
  const ApiFailure too_long = failure_of(
      {1, ErrorCode::kInvalidArgument, "long", link::FailureReason::kContextLength}, true);
  EXPECT_EQ(too_long.status, 400);
  EXPECT_EQ(too_long.param, "messages");
  EXPECT_EQ(too_long.code, "context_length_exceeded");
  EXPECT_EQ(failure_of({1, ErrorCode::kInvalidArgument, "token 9 is odd"}, false).param, "prompt");
  EXPECT_EQ(failure_of({1, ErrorCode::kInvalidArgument, "top_k: odd"}, false).param, "top_k");
  EXPECT_EQ(failure_of({1, ErrorCode::kUnavailable, "gone"}, false).status, 503);
  EXPECT_EQ(failure_of({1, ErrorCode::kCancelled, "stop"}, false).status, 503);
  EXPECT_EQ(failure_of({1, ErrorCode::kInternal, "secret"}, false).message, "internal error");
  EXPECT_EQ(error_json(failure_of({1, ErrorCode::kUnavailable, "gone"}, false))["error"]["type"],
            "server_error");
}

}  // namespace
}  // namespace kw::openai_server
