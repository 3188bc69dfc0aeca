// UTF-8 with its faults, character classes, GPT-2's byte map.
#include "lm/tokenizer/unicode.h"

#include <gtest/gtest.h>

#include "lm/tokenizer/byte_level.h"

namespace kw::lm {
namespace {

TEST(Unicode, ReplacesIllFormedBytesAsRustDoes) {
  // From the Unicode standard, table 3-8, and Rust's documentation of from_utf8_lossy.
  EXPECT_EQ(to_valid_utf8("Hello \xF0\x90\x80World"), "Hello \uFFFDWorld");
  EXPECT_EQ(to_valid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80\xF4\x91\x92\x93\xFF"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(to_valid_utf8("\xE4\xB8"), "\uFFFD");
}

TEST(Unicode, KnowsWhatMoreBytesCouldComplete) {
  EXPECT_TRUE(read_utf8("\xE4\xB8").cut);
  EXPECT_TRUE(read_utf8("\xF0").cut);
  EXPECT_FALSE(read_utf8("\xE0\x80").cut);  // overlong, whatever follows
  EXPECT_FALSE(read_utf8("\x80").cut);
  EXPECT_EQ(read_utf8("").length, 0);
}

TEST(Unicode, RoundTripsEveryCodePoint) {
  for (char32_t code = 0; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 61) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, code);
    Utf8Character c = read_utf8(text);
    ASSERT_TRUE(c.valid && c.code == code && c.length == text.size()) << static_cast<int>(code);
    ASSERT_TRUE(is_utf8(text));
  }
}

TEST(Unicode, FindsFaultsBehindBlocksOfAscii) {
  std::string text(37, 'a');
  EXPECT_TRUE(is_utf8(text));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string bad = text;
    bad[at] = '\x80';
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(Unicode, Classes) {
  EXPECT_EQ(class_of('a'), kLetter | kWord);
  EXPECT_EQ(class_of('_'), kWord);
  EXPECT_EQ(class_of('@'), 0);
  EXPECT_EQ(class_of('7'), kNumber | kWord);
  EXPECT_EQ(class_of(0x3000), kSpace);
  EXPECT_EQ(class_of(0x180E), 0);                 // no white space since Unicode 6.3
  EXPECT_EQ(class_of(0x31350), kLetter | kWord);  // new in Unicode 15
  EXPECT_EQ(class_of(0x0301), kWord | kNfcCheck);
  EXPECT_EQ(class_of(0x110000), 0);
}

TEST(ByteLevel, MapsBytesToCharacters) {
  EXPECT_EQ(to_byte_level(" a\n\xFF"), "ĠaĊÿ");
  for (int byte = 0; byte < 256; ++byte) {
    std::string one(1, static_cast<char>(byte));
    EXPECT_EQ(from_byte_level(to_byte_level(one)), one);
  }
  EXPECT_EQ(from_byte_level("a b"), std::nullopt);
  EXPECT_EQ(decoded_bytes("a b"), "a b");  // a character that stands for no byte: as it is
  EXPECT_EQ(decoded_bytes("é"), "\xE9");   // HF decodes added tokens so too
}

}  // namespace
}  // namespace kw::lm
