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
  EXPECT_TRUE(splitter.split(text, [&](std::string_view piece, bool) { out.emplace_back(piece); }));
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
                                  [](std::string_view, bool) {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kResourceExhausted);
}

std::vector<std::string> cut(const char* json, std::string_view text, bool at_start = true) {
  std::vector<std::string> out;
  Json value = *parse_json(json);
  auto pre = PreTokenizer::from_json(&value, "pre_tokenizer");
  EXPECT_TRUE(pre) << pre.error().message();
  if (!pre) return out;
  EXPECT_TRUE(pre->split(text, at_start, [&](std::string_view word) { out.emplace_back(word); }));
  return out;
}

TEST(PreTokenizer, PrefixSpaceAndSeveralSteps) {
  EXPECT_THAT(cut(R"({"type":"Sequence","pretokenizers":[
        {"type":"Split","pattern":{"Regex":"\\p{N}"},"behavior":"Isolated"},
        {"type":"ByteLevel","add_prefix_space":true,"use_regex":true}]})",
                  "ab1c"),
              ElementsAre(" ab", " 1", " c"));
}

// What HF `tokenizers` gives for the same settings.
TEST(PreTokenizer, Digits) {
  EXPECT_THAT(cut(R"({"type":"Digits","individual_digits":true})", "a12 \u00B2b"),
              ElementsAre("a", "1", "2", " ", "\u00B2", "b"));
  EXPECT_THAT(cut(R"({"type":"Digits"})", "12a34"), ElementsAre("12", "a", "34"));
  EXPECT_THAT(cut(R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},
                      {"type":"ByteLevel","add_prefix_space":false}]})",
                  "in 25 it's"),
              ElementsAre("in", " ", "2", "5", " it", "'s"));
}

TEST(PreTokenizer, Metaspace) {
  const char* always = R"({"type":"Metaspace"})";
  EXPECT_THAT(cut(always, "a b  c"), ElementsAre("\u2581a", "\u2581b", "\u2581", "\u2581c"));
  EXPECT_THAT(cut(always, " a"), ElementsAre("\u2581a"));
  const char* first = R"({"type":"Metaspace","prepend_scheme":"first","split":false})";
  EXPECT_THAT(cut(first, "a b"), ElementsAre("\u2581a\u2581b"));
  EXPECT_THAT(cut(first, "a b", false), ElementsAre("a\u2581b"));
  EXPECT_THAT(cut(R"({"type":"Metaspace","prepend_scheme":"never"})", "a b"),
              ElementsAre("a", "\u2581b"));
}

TEST(PreTokenizer, BehaviorsOfSplit) {
  auto with = [](const std::string& behavior, const char* invert = "false") {
    return cut((R"({"type":"Split","pattern":{"String":" "},"behavior":")" + behavior +
                R"(","invert":)" + invert + "}")
                   .c_str(),
               "a  b ");
  };
  EXPECT_THAT(with("Isolated"), ElementsAre("a", " ", " ", "b", " "));
  EXPECT_THAT(with("Removed"), ElementsAre("a", "b"));
  EXPECT_THAT(with("Removed", "true"), ElementsAre(" ", " ", " "));
  EXPECT_THAT(with("MergedWithPrevious"), ElementsAre("a ", " ", "b "));
  EXPECT_THAT(with("MergedWithNext"), ElementsAre("a", " ", " b", " "));
  EXPECT_THAT(with("Contiguous"), ElementsAre("a", "  ", "b", " "));
}

TEST(PreTokenizer, NamesTheKeyThatItDoesNotRead) {
  auto message = [](const char* text) {
    Json value = *parse_json(text);
    auto pre = PreTokenizer::from_json(&value, "pre_tokenizer");
    return pre ? std::string("accepted") : pre.error().message();
  };
  EXPECT_THAT(message(R"({"type":"Whitespace"})"), HasSubstr("pre_tokenizer.type: \"Whitespace\""));
  EXPECT_THAT(
      message(
          R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Strings":" "},"behavior":"Isolated"}]})"),
      HasSubstr("pre_tokenizer.pretokenizers[0].pattern.Regex: missing"));
  EXPECT_THAT(message(R"({"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"})"),
              HasSubstr("pre_tokenizer.pattern.Regex: no regular expression"));
  EXPECT_THAT(message(R"({"type":"Split","pattern":{"String":""},"behavior":"Isolated"})"),
              HasSubstr("pre_tokenizer.pattern.String"));
  EXPECT_THAT(message(R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"Apart"})"),
              HasSubstr("pre_tokenizer.behavior: \"Apart\""));
  EXPECT_THAT(message(R"({"type":"Metaspace","prepend_scheme":"last"})"),
              HasSubstr("pre_tokenizer.prepend_scheme: \"last\""));
  EXPECT_THAT(message(R"({"type":"Metaspace","replacement":"ab"})"),
              HasSubstr("pre_tokenizer.replacement"));
  EXPECT_THAT(
      message(R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]})"),
      HasSubstr("behind ByteLevel"));
}

}  // namespace
}  // namespace kw::lm
