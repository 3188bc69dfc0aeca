#include "train/rl/chat_encoder.h"

#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"

namespace kw::train {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t kEnd = 258;  // <|im_end|>

class Chat : public testing::Test {
 protected:
  // Gives the text that the model reads, special tokens included.
  std::string read(const Tokens& tokens) const {
    const std::vector<lm::TokenId> ids(tokens.begin(), tokens.end());
    return tokenizer_.decode(ids, false);
  }

  Json config_ = {{"eos_token", "<|endoftext|>"}};
  lm::Tokenizer tokenizer_ =
      lm::Tokenizer::from_json(lm::testing::tokenizer_json({}), &config_).value();
  ChatEncoder chat_{tokenizer_};
};

TEST_F(Chat, AConversationEndsWhereThePolicyAnswers) {
  EXPECT_EQ(read(chat_.begin({{"user", "Hi"}}).value()),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(chat_.ends(), (Tokens{kEnd, 256}));
}

TEST_F(Chat, AFollowingTurnAddsWhatStandsBetweenTheAnswers) {
  const std::vector<text::ChatMessage> so_far = {{"user", "Hi"}, {"assistant", "Hello"}};
  const std::string rest = "\n<|im_start|>user\nAgain<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(read(chat_.follow(so_far, true, {{"user", "Again"}}).value()), rest);
  // An answer that was cut gets the end of its turn.
  EXPECT_EQ(read(chat_.follow(so_far, false, {{"user", "Again"}}).value()), "<|im_end|>" + rest);
}

TEST_F(Chat, AnAnswersTextHasNoSpecialTokens) {
  EXPECT_EQ(chat_.text({'a', 'b', kEnd}), "ab");
  EXPECT_EQ(chat_.text({kEnd}), "");
}

TEST_F(Chat, ContentsAreTheTextOfTheNewMessages) {
  const std::vector<text::ChatMessage> next = {{"system", "Be user."}, {"user", " Again\n"}};
  const Tokens tokens = chat_.follow({{"user", "Hi"}, {"assistant", "Hello"}}, false, next).value();
  const std::vector<std::uint8_t> inside = chat_.contents(tokens, next);
  ASSERT_EQ(inside.size(), tokens.size());
  Tokens some;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (inside[i] != 0) some.push_back(tokens[i]);
  EXPECT_EQ(read(some), "Be user.Again");
  EXPECT_EQ(inside.front(), 0);
  EXPECT_EQ(inside.back(), 0);
}

}  // namespace
}  // namespace kw::train
