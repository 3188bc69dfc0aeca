// Trained vocabularies: the order of merges, limits, files that our reader takes.
#include "lm/tokenizer/bpe_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/chat_template.h"
#include "lm/tokenizer/tokenizer.h"
#include "os/file.h"

namespace kw::lm {
namespace {

using ::testing::ElementsAre;

BpeTrainer make_trainer(TrainerOptions options) {
  auto out = BpeTrainer::make(std::move(options));
  EXPECT_TRUE(out) << out.error().message();
  return std::move(*out);
}

std::vector<std::string> merges(const BpeTrainer& trainer) {
  std::vector<std::string> out;
  Json tokenizer = trainer.train().tokenizer;
  for (const Json& merge : tokenizer["model"]["merges"])
    out.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  return out;
}

TEST(BpeTrainer, MostFrequentFirstThenSmallestIds) {
  BpeTrainer trainer = make_trainer({.special = {}, .eos = "", .pad = ""});
  trainer.add("ab\nab\nab\ncd\ncd\nxy\nxy\n");
  // "xy" and "cd" are there twice each; c comes before x. "ĊĊ" is never there.
  EXPECT_THAT(merges(trainer), ElementsAre("a b", "c d", "x y"));
}

// Made with HF tokenizers 0.23.3, BpeTrainer(vocab_size=270, min_frequency=2) and Qwen's
// expression.
TEST(BpeTrainer, EqualsHf) {
  BpeTrainer trainer =
      make_trainer({.vocab_size = 270, .special = {"<|x|>"}, .eos = "", .pad = ""});
  trainer.add("the cat and the hat; then the bat sat at the mat, the other matter");
  EXPECT_THAT(merges(trainer), ElementsAre("a t", "h e", "t he", "Ġ the", "m at", "Ġ mat"));
}

TEST(BpeTrainer, OrderOfTextsMakesNoDifference) {
  BpeTrainer forward = make_trainer({.vocab_size = 300});
  BpeTrainer backward = make_trainer({.vocab_size = 300});
  std::vector<std::string> texts = {"one two three", "two three four", "three four five one one"};
  for (const std::string& text : texts) forward.add(text);
  std::reverse(texts.begin(), texts.end());
  for (const std::string& text : texts) backward.add(text);
  EXPECT_EQ(forward.train().tokenizer.dump(), backward.train().tokenizer.dump());
}

TEST(BpeTrainer, StopsAtTheSizeAndTheFrequency) {
  TrainerOptions options{.vocab_size = 260, .special = {}, .eos = "", .pad = ""};
  BpeTrainer full = make_trainer(options);
  for (int round = 0; round < 9; ++round) full.add("abcdefghij klmnop");
  EXPECT_EQ(full.train().tokenizer["model"]["vocab"].size(), 260U);
  options.min_frequency = 10;
  BpeTrainer rare = make_trainer(options);
  for (int round = 0; round < 9; ++round) rare.add("abcdefghij klmnop");
  EXPECT_TRUE(merges(rare).empty());
}

TEST(BpeTrainer, WritesWhatOurReaderTakes) {
  auto folder = os::TempDir::make("trainer");
  ASSERT_TRUE(folder);
  BpeTrainer trainer = make_trainer({.vocab_size = 300});
  for (int round = 0; round < 3; ++round)
    trainer.add("int main() { return main; } \u00E9\u4E2D\xFF");
  ASSERT_TRUE(trainer.write(trainer.train(), folder->path()));
  auto tokenizer = Tokenizer::load(folder->path());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  std::string text = "<|im_start|>int main e\u0301 \u4E2D<|im_end|>";
  auto ids = *tokenizer->encode(text);
  EXPECT_EQ(ids.front(), tokenizer->token_id("<|im_start|>"));
  EXPECT_EQ(ids.back(), tokenizer->eos());
  EXPECT_EQ(tokenizer->decode(ids), "int main \u00E9 \u4E2D");
  EXPECT_EQ(ChatTemplate::of(*tokenizer).end_of_turn(), "<|im_end|>");
}

TEST(BpeTrainer, RefusesBadOptions) {
  EXPECT_FALSE(BpeTrainer::make({.vocab_size = 258}));
  EXPECT_FALSE(BpeTrainer::make({.special = {"a"}, .eos = "", .pad = ""}));
  EXPECT_FALSE(BpeTrainer::make({.special = {""}, .eos = "", .pad = ""}));
  EXPECT_FALSE(BpeTrainer::make({.special = {"<x>", "<x>"}, .eos = "", .pad = ""}));
  EXPECT_FALSE(BpeTrainer::make({.special = {"<x>"}, .eos = "<y>", .pad = ""}));
}

}  // namespace
}  // namespace kw::lm
