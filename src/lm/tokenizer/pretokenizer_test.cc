// Words: examples, the scanner against PCRE2 with the same expression, refused expressions.
#include "lm/tokenizer/pretokenizer.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> words(WordPattern pattern, std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = word_end(pattern, text, begin);
    out.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

std::vector<std::string> pieces(const RegexSplitter& splitter, std::string_view text) {
  std::vector<std::string> out;
  EXPECT_TRUE(splitter.split(text, [&](std::string_view piece) { out.emplace_back(piece); }));
  return out;
}

TEST(WordScanner, Qwen) {
  EXPECT_THAT(
      words(WordPattern::kQwen, "Don't  stop 12\n\n  x=1;\n"),
      ElementsAre("Don", "'t", " ", " stop", " ", "1", "2", "\n\n", " ", " x", "=", "1", ";\n"));
  EXPECT_THAT(words(WordPattern::kQwen, "WE'LL it'\u017F"),
              ElementsAre("WE", "'LL", " it", "'\u017F"));
  EXPECT_THAT(words(WordPattern::kQwen, "a \r\n \t"), ElementsAre("a", " \r\n", " \t"));
}

TEST(WordScanner, Llama3TakesThreeDigits) {
  EXPECT_THAT(words(WordPattern::kLlama3, "1234567 x"), ElementsAre("123", "456", "7", " x"));
}

TEST(WordScanner, Gpt2) {
  EXPECT_THAT(words(WordPattern::kGpt2, "I'LL we'll 123!! \n  a"),
              ElementsAre("I", "'", "LL", " we", "'ll", " 123", "!!", " \n ", " a"));
}

// Characters that PCRE2's Unicode version knows as we do.
TEST(WordScanner, EqualsItsExpression) {
  const std::vector<std::string> alphabet = {
      "a",          "b",      "S",      "s",         "t",      "r",      "e",      "E",
      "v",          "l",      "L",      "d",         "m",      "'",      " ",      " ",
      " ",          "\n",     "\r",     "\t",        "\v",     "\x1C",   "1",      "22",
      "!",          "_",      "\u00E9", "\u0301",    "\u4E2D", "\u0663", "\u2028", "\u3000",
      "\u0085",     "\u00A0", "\u180E", "\u200B",    "\u017F", "\u212A", "\u00B2", "\u2164",
      "\U0001F600", "\u0E33", "\uFFFD", "\U000E0100"};
  std::mt19937 random(7);
  for (WordPattern pattern : {WordPattern::kGpt2, WordPattern::kQwen, WordPattern::kLlama3}) {
    auto splitter = RegexSplitter::make(regex_of(pattern));
    ASSERT_TRUE(splitter);
    for (int round = 0; round < 40000; ++round) {
      std::string text;
      for (std::size_t left = random() % 12; left > 0; --left)
        text += alphabet[random() % alphabet.size()];
      ASSERT_EQ(words(pattern, text), pieces(*splitter, text)) << text;
    }
  }
}

TEST(RegexSplitter, GivesGapsToo) {
  auto splitter = RegexSplitter::make("[0-9]+");
  ASSERT_TRUE(splitter);
  EXPECT_THAT(pieces(*splitter, "ab12c3"), ElementsAre("ab", "12", "c", "3"));
  EXPECT_THAT(pieces(*splitter, "x"), ElementsAre("x"));
}

TEST(RegexSplitter, RefusesWhatMeansSomethingElse) {
  for (const char* regex : {"^a", "a$", "a{1,2}+", "[a[b]]", "[a&&b]", "[]a]", "\\h", "\\1(a)",
                            "(?i)a", "(?<n>a)", "[\\S]", "\\"})
    EXPECT_FALSE(RegexSplitter::make(regex)) << regex;
  for (const char* regex : {"(", "a*", "", "x|"}) EXPECT_FALSE(RegexSplitter::make(regex)) << regex;
}

TEST(RegexSplitter, GivesUpInsteadOfRunningForEver) {
  auto splitter = RegexSplitter::make("(?:a+)+[bc]");
  ASSERT_TRUE(splitter);
  Status status = splitter->split("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad",
                                  [](std::string_view) {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kResourceExhausted);
}

TEST(PreTokenizer, PrefixSpaceAndSeveralSteps) {
  Json gpt2 = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", true}};
  Json digits = {{"type", "Split"}, {"pattern", {{"Regex", "\\p{N}"}}}, {"behavior", "Isolated"}};
  Json value = {{"type", "Sequence"}, {"pretokenizers", {digits, gpt2}}};
  auto pre = PreTokenizer::from_json(value, "pre_tokenizer");
  ASSERT_TRUE(pre) << pre.error().message();
  std::vector<std::string> out;
  EXPECT_TRUE(pre->split("ab1c", [&](std::string_view word) { out.emplace_back(word); }));
  EXPECT_THAT(out, ElementsAre(" ab", " 1", " c"));
}

TEST(PreTokenizer, NamesTheKeyThatItDoesNotRead) {
  auto message = [](const char* text) {
    auto pre = PreTokenizer::from_json(*parse_json(text), "pre_tokenizer");
    return pre ? std::string("accepted") : pre.error().message();
  };
  EXPECT_THAT(message(R"({"type":"Whitespace"})"), HasSubstr("pre_tokenizer.type: \"Whitespace\""));
  EXPECT_THAT(
      message(
          R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":" "},"behavior":"Isolated"}]})"),
      HasSubstr("pre_tokenizer.pretokenizers[0].pattern.Regex: missing"));
  EXPECT_THAT(message(R"({"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"})"),
              HasSubstr("pre_tokenizer.pattern.Regex: no regular expression"));
  EXPECT_THAT(message(R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"Removed"})"),
              HasSubstr("pre_tokenizer.behavior: \"Removed\""));
  EXPECT_THAT(message(R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"Isolated"})"),
              HasSubstr("no ByteLevel"));
}

}  // namespace
}  // namespace kw::lm
