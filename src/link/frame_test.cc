// Pieces of every size, and lengths that cannot be.
#include "link/frame.h"

#include <vector>

#include <gtest/gtest.h>

namespace kw::link {
namespace {

std::vector<std::string> bodies_in(std::string_view bytes, std::size_t piece) {
  FrameParser parser;
  std::vector<std::string> out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    parser.feed(bytes.substr(0, piece));
    for (;;) {
      auto body = parser.next();
      EXPECT_TRUE(body);
      if (!body || !*body) break;
      out.emplace_back(**body);
    }
  }
  EXPECT_EQ(parser.unread_bytes(), 0U);
  return out;
}

TEST(Frame, ComesBackInPiecesOfAnySize) {
  const std::vector<std::string> bodies = {"a", std::string(70000, 'x'), "{}",
                                           std::string(255, '\0'), std::string(256, '\xff')};
  std::string bytes;
  for (const std::string& body : bodies) ASSERT_TRUE(append_frame(bytes, body));
  for (std::size_t piece : {1UL, 2UL, 3UL, 5UL, 1000UL, bytes.size()})
    EXPECT_EQ(bodies_in(bytes, piece), bodies);
}

TEST(Frame, LengthIsLittleEndian) {
  std::string bytes;
  ASSERT_TRUE(append_frame(bytes, std::string(0x010203, 'x')));
  EXPECT_EQ(bytes.substr(0, 4), std::string("\x03\x02\x01\0", 4));
}

TEST(Frame, RefusesLengthsThatCannotBe) {
  FrameParser parser(1000);
  parser.feed(std::string("\0\0\0\0x", 5));
  EXPECT_FALSE(parser.next());
  FrameParser other(1000);
  other.feed(std::string("\xe9\x03\0\0", 4));
  auto body = other.next();
  ASSERT_FALSE(body);
  EXPECT_NE(body.error().message().find("1001"), std::string::npos);
  std::string out = "before";
  EXPECT_FALSE(append_frame(out, ""));
  auto refused = append_frame(out, std::string(kMaxFrameBytes + 1, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(out, "before");
}

TEST(Frame, WaitsForTheRest) {
  FrameParser parser;
  parser.feed(std::string("\xff\xff\xff\0", 4));
  auto body = parser.next();
  ASSERT_TRUE(body);
  EXPECT_FALSE(*body);
  EXPECT_EQ(parser.unread_bytes(), 4U);
}

}  // namespace
}  // namespace kw::link
