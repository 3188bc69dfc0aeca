// Text level: over the engine without a model and a tokenizer of single bytes.
#include "serving/completion.h"

#include <gtest/gtest.h>

#include "lm/testing/fake_engine.h"
#include "lm/tokenizer/testing/small_tokenizer.h"

namespace kw::serving {
namespace {

lm::Tokenizer byte_tokenizer() {
  auto made = lm::Tokenizer::from_json(lm::testing::tokenizer_json({}, {}));
  EXPECT_TRUE(made);
  return std::move(*made);
}

// The first place from `at` on where a character begins.
std::size_t character_at(const std::string& utf8, std::size_t at) {
  while (at < utf8.size() && (static_cast<unsigned char>(utf8[at]) & 0xC0U) == 0x80U) ++at;
  return at;
}

struct Collected : CompletionListener {
  void part(CompletionPart part) override {
    texts[static_cast<std::size_t>(part.choice)] += part.text;
    auto& ids = tokens[static_cast<std::size_t>(part.choice)];
    for (const lm::Sample& sample : part.tokens) ids.push_back(sample.token);
    if (part.finish) finishes[static_cast<std::size_t>(part.choice)] = part.finish;
  }
  void done() override { ++ended; }

  explicit Collected(std::size_t choices) : texts(choices), tokens(choices), finishes(choices) {}
  std::vector<std::string> texts;
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<std::optional<text::Finish>> finishes;
  int ended = 0;
};

class CompletionTest : public ::testing::Test {
 protected:
  lm::Tokenizer tokenizer = byte_tokenizer();
  lm::FakeEngine engine{{4, 300, 32}, 256};
  Generator generator{engine};
  Completions completions{tokenizer, lm::ChatTemplate::none(), generator, {}};

  link::GenerateRequest request_of(const std::string& prompt, int choices) {
    link::GenerateRequest request;
    request.prompt = prompt;
    request.n = choices;
    request.max_tokens = 100;
    request.seed = 5;
    return request;
  }
  void run_all() {
    while (generator.step()) {
    }
  }
};

TEST_F(CompletionTest, GivesEveryChoice) {
  Collected got(6);
  auto started = completions.start(request_of("hello", 6), &got);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->prompt_tokens, 5);
  run_all();
  EXPECT_EQ(got.ended, 1);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(got.finishes[i], text::Finish::kLength);
    ASSERT_EQ(got.tokens[i].size(), 100U);
    EXPECT_EQ(got.texts[i], tokenizer.decode(got.tokens[i]));
    EXPECT_EQ(got.tokens[i].front(), engine.next({'h', 'e', 'l', 'l', 'o'}, 5, i));
  }
  EXPECT_NE(got.texts[0], got.texts[1]);
}

TEST_F(CompletionTest, StopsBeforeAStopString) {
  Collected whole(1);
  ASSERT_TRUE(completions.start(request_of("abc", 1), &whole));
  run_all();
  const std::string& text = whole.texts[0];
  const std::size_t begin = character_at(text, 40);
  const std::string stop = text.substr(begin, character_at(text, begin + 7) - begin);
  const std::size_t place = text.find(stop);
  link::GenerateRequest request = request_of("abc", 1);
  request.stop = {"not in it at all", stop};
  Collected cut(1);
  ASSERT_TRUE(completions.start(request, &cut));
  run_all();
  EXPECT_EQ(cut.texts[0], text.substr(0, place));
  EXPECT_EQ(cut.finishes[0], text::Finish::kStop);
  EXPECT_LT(cut.tokens[0].size(), 100U);
}

TEST_F(CompletionTest, CancelsAllChoices) {
  Collected got(8);
  auto started = completions.start(request_of("abc", 8), &got);
  ASSERT_TRUE(started);
  for (int i = 0; i < 5; ++i) generator.step();
  completions.cancel(started->id);
  EXPECT_EQ(got.ended, 1);
  for (auto finish : got.finishes) EXPECT_EQ(finish, text::Finish::kCancelled);
  completions.cancel(started->id);
  EXPECT_FALSE(generator.step());
}

TEST_F(CompletionTest, RefusesWhatCannotBe) {
  Collected got(1);
  link::GenerateRequest request = request_of("abc", 0);
  EXPECT_FALSE(completions.start(request, &got));
  request = request_of("abc", 1);
  request.stop = {""};
  EXPECT_FALSE(completions.start(request, &got));
  request = request_of(std::string(400, 'x'), 1);
  auto refused = completions.start(request, &got);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("context of 300"), std::string::npos);
  EXPECT_FALSE(generator.step());
  EXPECT_EQ(got.ended, 0);
}

}  // namespace
}  // namespace kw::serving
