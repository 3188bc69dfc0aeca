#include "train/data/row_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"

namespace kw::train {
namespace {

using ::testing::HasSubstr;

lm::Tokenizer make_tokenizer(const std::string& chat_template = "") {
  const Json config = {{"eos_token", "<|im_end|>"}};
  auto made = lm::Tokenizer::from_json(lm::testing::tokenizer_json({}), &config, chat_template);
  EXPECT_TRUE(made);
  return std::move(*made);
}

// Text with the weight of its tokens in front of each run of equal ones: "0:Hi 1:Ho".
std::string shown(const lm::Tokenizer& tokenizer, const Sample& sample) {
  std::string out;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (i == 0 || sample.weights[i] != sample.weights[i - 1])
      out += fmt::format("{}{}:", i == 0 ? "" : " ", sample.weights[i]);
    const lm::TokenId ids[] = {static_cast<lm::TokenId>(sample.tokens[i])};
    out += tokenizer.decode(ids, false);
  }
  return out;
}

std::string encoded(const char* row, double prompt_weight = 0) {
  const lm::Tokenizer tokenizer = make_tokenizer();
  auto encoder = RowEncoder::make(tokenizer, prompt_weight);
  EXPECT_TRUE(encoder);
  auto sample = encoder->encode(*parse_json(row));
  if (!sample) return "refused: " + sample.error().message();
  EXPECT_EQ(sample->tokens.size(), sample->weights.size());
  return shown(tokenizer, *sample);
}

TEST(RowEncoder, AnswersOfAConversationHaveWeight) {
  EXPECT_EQ(encoded(R"({"messages": [{"role": "user", "content": "Hi"},
                                     {"role": "assistant", "content": "Ho"},
                                     {"role": "user", "content": "So"},
                                     {"role": "assistant", "content": "No"}]})"),
            "0:<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n 1:Ho<|im_end|> "
            "0:\n<|im_start|>user\nSo<|im_end|>\n<|im_start|>assistant\n 1:No<|im_end|> 0:\n");
}

TEST(RowEncoder, MessagesMayHaveTheirOwnWeight) {
  EXPECT_EQ(encoded(R"({"messages": [{"role": "user", "content": "Hi"},
                                     {"role": "assistant", "content": "Ho", "weight": 0.5}]})",
                    0.25),
            "0.25:<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n 0.5:Ho<|im_end|> 0:\n");
}

TEST(RowEncoder, PairsAndTextsEndWithTheEndOfSequence) {
  EXPECT_EQ(encoded(R"({"prompt": "1+1=", "completion": "2", "id": 7})"), "0:1+1= 1:2<|im_end|>");
  EXPECT_EQ(encoded(R"({"text": "ab"})"), "1:ab<|im_end|>");
}

TEST(RowEncoder, TokensStayAsTheyAre) {
  EXPECT_EQ(encoded(R"({"tokens": [97, 98, 99], "weights": [0, 2, 1.5]})"), "0:a 2:b 1.5:c");
  EXPECT_EQ(encoded(R"({"tokens": [97, 98]})"), "1:ab");
}

TEST(RowEncoder, WrongRowsAreRefusedWithTheField) {
  EXPECT_THAT(encoded(R"({"question": "?"})"), HasSubstr("refused: expected one of the keys"));
  EXPECT_THAT(encoded(R"({"prompt": "a"})"), HasSubstr("completion: expected text"));
  EXPECT_THAT(encoded(R"({"tokens": [1, -1]})"), HasSubstr("-1 is no token"));
  EXPECT_THAT(encoded(R"({"tokens": [1, 2], "weights": [1]})"), HasSubstr("as long as tokens"));
  EXPECT_THAT(encoded(R"({"messages": [{"role": "user"}]})"), HasSubstr("messages[0].content"));
  EXPECT_THAT(encoded(R"({"messages": [{"role": "user", "content": "a", "weight": -1}]})"),
              HasSubstr("messages[0].weight"));
}

}  // namespace
}  // namespace kw::train
