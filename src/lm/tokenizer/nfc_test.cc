// Normalisation form C: examples of Unicode annex 15, Hangul, and what only later Unicode versions
// change.
#include "lm/tokenizer/nfc.h"

#include <gtest/gtest.h>

namespace kw::lm {
namespace {

TEST(Nfc, ComposesAndOrders) {
  EXPECT_EQ(to_nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(to_nfc("\u212B"), "\u00C5");              // a singleton
  EXPECT_EQ(to_nfc("\u1E0B\u0323"), "\u1E0D\u0307");  // another order
  EXPECT_EQ(to_nfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093C");  // excluded from composition
  EXPECT_EQ(to_nfc("a\u0315\u0300\u05AE\u0062"), "\u00E0\u05AE\u0315\u0062");
  EXPECT_EQ(to_nfc("\u0344"), "\u0308\u0301");
  EXPECT_EQ(to_nfc("\u1E9B\u0323"), "\u1E9B\u0323");
  EXPECT_EQ(to_nfc("a\u0301\u0301"), "\u00E1\u0301");  // the second is blocked
  EXPECT_EQ(to_nfc("\u0CC6\u0CC2\u0CD5"), "\u0CCB");   // in two steps
}

TEST(Nfc, Hangul) {
  EXPECT_EQ(to_nfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(to_nfc("\uAC00\u11A8"), "\uAC01");
  EXPECT_EQ(to_nfc("\uAC01\u11A8"), "\uAC01\u11A8");  // it has its final consonant
  EXPECT_EQ(to_nfc("\u1100\u11A8"), "\u1100\u11A8");
}

TEST(Nfc, SkipsOnlyWhatCannotChange) {
  EXPECT_TRUE(is_surely_nfc("plain, \u00E9, \u4E2D, \U0001F600"));
  for (const char* text : {"e\u0301", "\u212B", "\u0958", "\u1100\u1161", "\uF900"})
    EXPECT_FALSE(is_surely_nfc(text)) << text;
}

// HF's tables are older than this character (Unicode 13): a library with newer ones would differ.
TEST(Nfc, FollowsHfsUnicodeVersion) {
  EXPECT_EQ(to_nfc("\U00011935\U00011930"), "\U00011935\U00011930");
}

}  // namespace
}  // namespace kw::lm
