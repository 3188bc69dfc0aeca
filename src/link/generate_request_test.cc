// There and back, and what is refused by its path.
#include "link/generate_request.h"

#include <gtest/gtest.h>

namespace kw::link {
namespace {

TEST(GenerateRequest, ThereAndBack) {
  GenerateRequest request;
  request.prompt =
      std::vector<text::ChatMessage>{{"system", "be \"kind\""}, {"user", "caf\xc3\xa9\n"}};
  request.continue_final = true;
  request.template_arguments = {{"enable_thinking", false}, {"date_string", "1 May 2025"}};
  request.n = 7;
  request.temperature = 0.1;
  request.top_p = 0.95;
  request.min_p = 0.05;
  request.top_k = 40;
  request.max_tokens = 12;
  request.stop = {"\n\n", "###"};
  request.stop_token_ids = {3, 2147483647};
  request.ignore_end = true;
  request.seed = 18446744073709551615ULL;
  request.first_sequence = 9;
  request.logprobs = true;
  request.top_logprobs = 5;
  auto back = generate_request_from_json(Json::parse(to_json(request).dump()), "");
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, request);
  request.prompt = std::vector<std::int32_t>{1, 2, 3};
  EXPECT_EQ(*generate_request_from_json(to_json(request), ""), request);
  request.prompt = "text";
  EXPECT_EQ(*generate_request_from_json(to_json(request), ""), request);
}

std::string refusal(const char* text) {
  auto read = generate_request_from_json(Json::parse(text), "p:3");
  return read ? "" : read.error().message();
}

TEST(GenerateRequest, NamesTheField) {
  EXPECT_NE(refusal(R"({})").find("p:3: expected one of"), std::string::npos);
  EXPECT_NE(refusal(R"({"prompt": "a", "token_ids": [1]})").find("one of"), std::string::npos);
  EXPECT_NE(refusal(R"({"prompt": 1})").find("p:3.prompt: "), std::string::npos);
  EXPECT_NE(refusal(R"({"token_ids": [1, -1]})").find("p:3.token_ids: "), std::string::npos);
  EXPECT_NE(refusal(R"({"token_ids": [2147483648]})").find("p:3.token_ids: "), std::string::npos);
  EXPECT_NE(refusal(R"({"token_ids": {"a": 1}})").find("p:3.token_ids: "), std::string::npos);
  EXPECT_NE(refusal(R"({"messages": [{"role": "user"}]})").find("p:3.messages[0].content: "),
            std::string::npos);
  EXPECT_NE(refusal(R"({"prompt": "a", "n": 0})").find("p:3.n: expected 1 to 1024"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"prompt": "a", "seed": -1})").find("p:3.seed: "), std::string::npos);
  EXPECT_NE(refusal(R"({"prompt": "a", "max_token": 1})").find("max_tokens"), std::string::npos);
}

TEST(GenerateRequest, KeepsWhatIsNotGiven) {
  GenerateRequest request;
  request.n = 3;
  request.stop = {"x"};
  Json value = {{"temperature", 0}, {"n", nullptr}};
  auto reader = ObjectReader::make(value, "");
  ASSERT_TRUE(reader);
  ASSERT_TRUE(read_settings(*reader, request));
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.temperature, 0);
  EXPECT_EQ(request.stop, std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace kw::link
