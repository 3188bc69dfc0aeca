// Decoding as Python does it; tests/reward compares with Python on random bytes.
#include "reward/code_points.h"

#include <gtest/gtest.h>

namespace kw::reward {
namespace {

using Codes = std::vector<std::uint32_t>;

TEST(CodePoints, WellFormed) {
  EXPECT_EQ(code_points(""), Codes{});
  EXPECT_EQ(code_points("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            (Codes{'a', 0xE9, 0x20AC, 0x1F600}));
  EXPECT_EQ(code_points(std::string_view("\0", 1)), (Codes{0}));
}

TEST(CodePoints, EachStrayByteIsEscaped) {
  EXPECT_EQ(code_points("\xFF"), (Codes{0xDCFF}));
  EXPECT_EQ(code_points("\x80z"), (Codes{0xDC80, 'z'}));
  EXPECT_EQ(code_points("\xE2\x82"), (Codes{0xDCE2, 0xDC82})) << "cut off";
  EXPECT_EQ(code_points("\xE2(\xA1"), (Codes{0xDCE2, '(', 0xDCA1}));
  EXPECT_EQ(code_points("\xC0\xAF"), (Codes{0xDCC0, 0xDCAF})) << "overlong";
  EXPECT_EQ(code_points("\xE0\x80\xAF"), (Codes{0xDCE0, 0xDC80, 0xDCAF})) << "overlong";
  EXPECT_EQ(code_points("\xED\xA0\x80"), (Codes{0xDCED, 0xDCA0, 0xDC80})) << "a surrogate";
  EXPECT_EQ(code_points("\xF4\x90\x80\x80").size(), 4U) << "beyond U+10FFFF";
}

TEST(Strip, PythonsWhiteSpace) {
  EXPECT_EQ(strip(" \t\n\v\f\r\x1C\x1F x y \n"), "x y");
  EXPECT_EQ(strip("\xC2\xA0\xE3\x80\x80z\xE2\x80\x89"), "z");
  EXPECT_EQ(strip("\xE2\x80\x8Bz"), "\xE2\x80\x8Bz") << "a zero width space is none";
  EXPECT_EQ(strip(" \n "), "");
  EXPECT_EQ(strip("\xFF "), "\xFF");
}

}  // namespace
}  // namespace kw::reward
