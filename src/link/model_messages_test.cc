// Every message there and back; what is refused.
#include "link/model_messages.h"

#include <gtest/gtest.h>

namespace kw::link {
namespace {

void expect_back(const FrontMessage& message) {
  auto back = front_message_from_json(Json::parse(to_json(message).dump()));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, message);
}

void expect_back(const EngineMessage& message) {
  auto back = engine_message_from_json(Json::parse(to_json(message).dump()));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, message);
}

TEST(ModelMessages, ThereAndBack) {
  expect_back(FrontMessage(Hello{}));
  GenerateRequest request;
  request.prompt = "p";
  expect_back(FrontMessage(Generate{1, request}));
  expect_back(FrontMessage(Cancel{18446744073709551615ULL}));
  expect_back(FrontMessage(StatisticsRequest{3}));
  expect_back(EngineMessage(Welcome{1, {"qwen3", "bfloat16", "cpu", 27, 8192, 4096, 32}}));
  expect_back(EngineMessage(Accepted{2, 17}));
  Part part;
  part.id = 2;
  part.choice = 3;
  part.text = "caf\xc3\xa9";
  part.tokens = {5, 0};
  expect_back(EngineMessage(part));
  part.logprobs = {{{5, -0.25, "\xc3"}, {{5, -0.25, "\xc3"}, {7, -1.5, ""}}}, {{0, -2, "\n"}, {}}};
  part.finish = text::Finish::kLength;
  expect_back(EngineMessage(part));
  expect_back(EngineMessage(Done{2, 17, 40}));
  expect_back(EngineMessage(Failed{0, ErrorCode::kResourceExhausted, "m", FailureReason::kOther}));
  expect_back(
      EngineMessage(Failed{9, ErrorCode::kInvalidArgument, "", FailureReason::kContextLength}));
  expect_back(EngineMessage(Statistics{4, 8, 1, 2, 3, 4, 5, 6}));
}

TEST(ModelMessages, RefusesWhatIsNotWritten) {
  for (const char* text :
       {"[]", "{}", R"({"type": "hello"})", R"({"type": "hello", "protocol": 1, "more": 1})",
        R"({"type": "cancel", "id": 0})", R"({"type": "cancel", "id": -1})",
        R"({"type": "generate", "id": 1, "request": {"prompt": "a", "n": 0}})",
        R"({"type": "part", "id": 1, "choice": 0, "text": "", "tokens": []})"})
    EXPECT_FALSE(front_message_from_json(Json::parse(text))) << text;
  for (
      const char* text :
      {R"({"type": "part", "id": 1, "choice": -1, "text": "", "tokens": []})",
       R"({"type": "part", "id": 1, "choice": 0, "text": "", "tokens": [-1]})",
       R"({"type": "part", "id": 1, "choice": 0, "text": "", "tokens": [], "finish": "x"})",
       R"({"type": "part", "id": 1, "choice": 0, "text": "", "tokens": [], "logprobs": [[]]})",
       R"({"type": "part", "id": 1, "choice": 0, "text": "", "tokens": [], "logprobs": [[[1, 0, "0"]]]})",
       R"({"type": "failed", "id": 1, "code": "odd", "message": ""})",
       R"({"type": "cancel", "id": 1})"})
    EXPECT_FALSE(engine_message_from_json(Json::parse(text))) << text;
}

}  // namespace
}  // namespace kw::link
