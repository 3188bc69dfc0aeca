// Event streams: the rules of the standard, cut at every place.
#include "net/sse.h"

#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::net {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ReadEvent = std::tuple<std::string, std::string, std::string>;  // type, data, id

std::vector<ReadEvent> read_events_in_pieces(std::string_view text, std::size_t piece) {
  std::vector<ReadEvent> out;
  SseParser parser;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    auto status = parser.feed(text.substr(0, piece), [&](const SseEvent& e) {
      out.emplace_back(e.type, e.data, e.id);
      return true;
    });
    EXPECT_TRUE(status);
  }
  return out;
}

// The same whatever the pieces.
std::vector<ReadEvent> read_events(std::string_view text) {
  std::vector<ReadEvent> whole = read_events_in_pieces(text, text.size() + 1);
  for (std::size_t piece : {1U, 2U, 3U, 7U})
    EXPECT_EQ(read_events_in_pieces(text, piece), whole) << piece;
  return whole;
}

TEST(SseParser, LineEnds) {
  EXPECT_THAT(read_events("data: a\n\ndata: b\r\rdata: c\r\n\r\ndata: d\r\n\n"),
              ElementsAre(ReadEvent("", "a", ""), ReadEvent("", "b", ""), ReadEvent("", "c", ""),
                          ReadEvent("", "d", "")));
  // CR CR LF: a line, then an empty one whose end is CRLF.
  EXPECT_THAT(read_events("data: x\r\r\ndata: y\n\n"),
              ElementsAre(ReadEvent("", "x", ""), ReadEvent("", "y", "")));
}

TEST(SseParser, Fields) {
  EXPECT_THAT(read_events("event: delta\ndata: one\ndata:two\ndata\ndata:  two spaces\nid: 7\n\n"),
              ElementsAre(ReadEvent("delta", "one\ntwo\n\n two spaces", "7")));
  EXPECT_THAT(read_events(": comment\n:\nunknown: x\nDATA: y\n data: z\n\n"), IsEmpty());
  EXPECT_THAT(read_events("data: a:b: c\n\n"), ElementsAre(ReadEvent("", "a:b: c", "")));
}

TEST(SseParser, EmptyDataIsNoEventAndClearsTheType) {
  EXPECT_THAT(read_events("event: a\n\ndata: x\n\n"), ElementsAre(ReadEvent("", "x", "")));
  EXPECT_THAT(read_events("data\n\n"), ElementsAre(ReadEvent("", "", "")));
}

TEST(SseParser, IdStays) {
  EXPECT_THAT(
      read_events("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"),
      ElementsAre(ReadEvent("", "a", "1"), ReadEvent("", "b", "1"), ReadEvent("", "c", "")));
  EXPECT_THAT(read_events(std::string_view("id: 1\nid: \0\ndata: a\n\n", 21)),
              ElementsAre(ReadEvent("", "a", "1")));
}

TEST(SseParser, ByteOrderMarkOnlyAtTheStart) {
  EXPECT_THAT(read_events("\xef\xbb\xbf"
                          "data: a\n\n\xef\xbb\xbf"
                          "data: b\n\n"),
              ElementsAre(ReadEvent("", "a", "")));
}

TEST(SseParser, NoEventWithoutItsEmptyLine) {
  EXPECT_THAT(read_events("data: a\n\ndata: cut\n"), ElementsAre(ReadEvent("", "a", "")));
}

TEST(SseParser, Retry) {
  SseParser parser;
  auto ignore = [](const SseEvent&) { return true; };
  ASSERT_TRUE(parser.feed("retry: 250\nretry: 3x\nretry:\nretry: -1\n", ignore));
  EXPECT_EQ(parser.retry(), std::chrono::milliseconds(250));
}

TEST(SseParser, LimitOfOneEvent) {
  SseParser parser(32);
  auto ignore = [](const SseEvent&) { return true; };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(parser.feed("data: 0123456789\n\n", ignore));
  auto status = parser.feed("data: 0123456789\ndata: 0123456789\ndata: 0", ignore);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kResourceExhausted);
}

TEST(SseParser, StopsWhenAsked) {
  SseParser parser;
  int seen = 0;
  ASSERT_TRUE(parser.feed("data: a\n\ndata: b\n\n", [&](const SseEvent&) {
    ++seen;
    return false;
  }));
  EXPECT_EQ(seen, 1);
}

TEST(SseWriter, WhatIsWrittenIsRead) {
  for (const char* data : {"", "x", "a\nb", "a\n", "\n\n", " leading", "{\"a\":1}"}) {
    EXPECT_THAT(read_events(format_event({"delta", data, "9"})),
                ElementsAre(ReadEvent("delta", data, "9")))
        << data;
  }
  EXPECT_THAT(read_events(format_event({"", "a\r\nb\rc", ""})),
              ElementsAre(ReadEvent("", "a\nb\nc", "")));
  EXPECT_EQ(format_event({"", "[DONE]", ""}), "data: [DONE]\n\n");
  EXPECT_THAT(read_events(format_comment("keep\nalive")), IsEmpty());
}

}  // namespace
}  // namespace kw::net
