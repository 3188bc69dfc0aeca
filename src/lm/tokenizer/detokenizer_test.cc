// Streaming: characters in pieces, stop strings across tokens, text held back.
#include "lm/tokenizer/detokenizer.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "lm/tokenizer/testing/small_tokenizer.h"

namespace kw::lm {
namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer kTokenizer = std::move(
      *Tokenizer::from_json(testing::tokenizer_json({{"E", "N"}, {"D", "!"}, {"EN", "D!"}})));
  return kTokenizer;
}
constexpr TokenId kEnd = 258;      // "END!"
constexpr TokenId kSpecial = 261;  // "<|im_end|>"

Detokenizer make_detokenizer(std::vector<std::string> stop, bool skip_special = true) {
  return std::move(*Detokenizer::make(tokenizer(), {std::move(stop), skip_special}));
}

std::string push_all(Detokenizer& detokenizer, std::string_view bytes) {
  std::string out;
  for (char byte : bytes) out += detokenizer.push(static_cast<unsigned char>(byte));
  return out;
}

TEST(Detokenizer, HoldsBackIncompleteCharacters) {
  Detokenizer d = make_detokenizer({});
  EXPECT_EQ(d.push('a'), "a");
  EXPECT_EQ(d.push(0xE4), "");
  EXPECT_EQ(d.push(0xB8), "");
  EXPECT_EQ(d.push(0xAD), "\u4E2D");
  EXPECT_EQ(d.push(0xF0), "");
  EXPECT_EQ(d.push('b'), "\uFFFDb");
  EXPECT_EQ(d.push(0xC3), "");
  EXPECT_EQ(d.finish(), "\uFFFD");
}

TEST(Detokenizer, CutsBeforeTheStopString) {
  Detokenizer d = make_detokenizer({"STOP"});
  EXPECT_EQ(d.push('a'), "a");
  EXPECT_EQ(d.push('S'), "");
  EXPECT_EQ(d.push('S'), "S");  // the first one is none
  EXPECT_EQ(d.push('T'), "");
  EXPECT_EQ(d.push('O'), "");
  EXPECT_EQ(d.stopped_by(), std::nullopt);
  EXPECT_EQ(d.push('P'), "");
  EXPECT_EQ(d.stopped_by(), 0U);
  EXPECT_EQ(d.push('x'), "");
  EXPECT_EQ(d.finish(), "");
}

TEST(Detokenizer, GivesBackWhatWasNoStop) {
  Detokenizer d = make_detokenizer({"abcd"});
  EXPECT_EQ(push_all(d, "xabc"), "x");
  EXPECT_EQ(d.finish(), "abc");
}

TEST(Detokenizer, TheStopThatIsCompleteFirstCounts) {
  Detokenizer inner = make_detokenizer({"xEND!x", "ND"});
  EXPECT_EQ(push_all(inner, "ax"), "a");
  EXPECT_EQ(inner.push(kEnd), "xE");
  EXPECT_EQ(inner.stopped_by(), 1U);
  Detokenizer longest = make_detokenizer({"D!", "END!"});
  EXPECT_EQ(longest.push(kEnd), "");
  EXPECT_EQ(longest.stopped_by(), 1U);
}

TEST(Detokenizer, SpecialTokens) {
  Detokenizer hidden = make_detokenizer({});
  EXPECT_EQ(hidden.push(kSpecial), "");
  Detokenizer shown = make_detokenizer({"<|im_end|>"}, false);
  EXPECT_EQ(shown.push('a'), "a");
  EXPECT_EQ(shown.push(kSpecial), "");
  EXPECT_EQ(shown.stopped_by(), 0U);
}

TEST(Detokenizer, RefusesEmptyStops) {
  EXPECT_FALSE(Detokenizer::make(tokenizer(), {{""}, true}));
  EXPECT_FALSE(Detokenizer::make(tokenizer(), {{"\xFF"}, true}));
  EXPECT_FALSE(Detokenizer::make(tokenizer(), {std::vector<std::string>(65, "x"), true}));
}

// However the text is cut into tokens: decode(), cut at the stop string that is complete first.
TEST(Detokenizer, EqualsDecodingAtOnce) {
  std::mt19937 random(3);
  const std::string alphabet = "ab\xE4\xB8\xAD\xC3";
  for (int round = 0; round < 20000; ++round) {
    std::vector<TokenId> ids;
    for (std::size_t left = random() % 14; left > 0; --left)
      ids.push_back(random() % 8 == 0
                        ? kEnd
                        : static_cast<unsigned char>(alphabet[random() % alphabet.size()]));
    std::vector<std::string> stops;
    for (std::size_t left = random() % 4; left > 0; --left) {
      std::vector<std::string> parts = {"a", "b", "\u4E2D", "\uFFFD", "E", "N", "!"};
      std::string stop = parts[random() % parts.size()];
      while (random() % 2 == 0) stop += parts[random() % parts.size()];
      stops.push_back(stop);
    }
    std::string wanted = tokenizer().decode(ids);
    std::size_t begin = wanted.size();
    std::size_t end = std::string::npos;
    for (const std::string& stop : stops) {
      auto at = wanted.find(stop);
      if (at != std::string::npos && std::pair(at + stop.size(), at) < std::pair(end, begin)) {
        begin = at;
        end = at + stop.size();
      }
    }
    Detokenizer d = make_detokenizer(stops);
    std::string out;
    for (TokenId id : ids) out += d.push(id);
    out += d.finish();
    ASSERT_EQ(out, wanted.substr(0, begin));
    ASSERT_EQ(d.stopped_by().has_value(), end != std::string::npos);
  }
}

}  // namespace
}  // namespace kw::lm
