// What is a request, and what two programs could read differently.
#include "net/request_parser.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::net {
namespace {

using Event = RequestParser::Event;

struct ParsedRequest {
  int status = 0;  // of the refusal
  std::string message;
  Request request;
  bool complete = false;
  std::string left;
};

ParsedRequest parse_in_pieces(std::string_view bytes, std::size_t piece, const Limits& limits) {
  RequestParser parser(limits);
  ParsedRequest out;
  std::string unread;
  while (!bytes.empty()) {
    unread += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      std::size_t consumed = 0;
      Event event = parser.feed(unread, consumed);
      unread.erase(0, consumed);
      if (event == Event::kHeader) {
        parser.limit_body(limits.body_bytes);
        continue;
      }
      if (event == Event::kError) {
        out.status = parser.error().status;
        out.message = parser.error().message;
        return out;
      }
      if (event == Event::kComplete) {
        out.complete = true;
        out.request = parser.request();
        out.left = unread + std::string(bytes);
        return out;
      }
      if (consumed == 0) break;
    }
  }
  return out;
}

// The same whatever the pieces.
ParsedRequest parse(std::string_view bytes, const Limits& limits = {}) {
  ParsedRequest whole = parse_in_pieces(bytes, bytes.size() + 1, limits);
  for (std::size_t piece : {1U, 2U, 3U, 11U}) {
    ParsedRequest again = parse_in_pieces(bytes, piece, limits);
    EXPECT_EQ(again.status, whole.status) << piece << ": " << bytes;
    EXPECT_EQ(again.complete, whole.complete) << piece << ": " << bytes;
    EXPECT_EQ(again.request.body, whole.request.body) << piece;
    EXPECT_EQ(again.left, whole.left) << piece;
  }
  return whole;
}

std::string post_with(std::string_view fields, std::string_view rest = "") {
  return "POST /x HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n" + std::string(rest);
}

TEST(RequestParser, Plain) {
  ParsedRequest got = parse("GET /a%20b?q=1 HTTP/1.1\r\nHost: h\r\nX-A:  b c \r\n\r\nGET /next");
  ASSERT_TRUE(got.complete) << got.message;
  EXPECT_EQ(got.request.method, "GET");
  EXPECT_EQ(got.request.path, "/a%20b");
  EXPECT_EQ(got.request.query, "q=1");
  EXPECT_EQ(*got.request.headers.find("x-a"), "b c");
  EXPECT_EQ(got.left, "GET /next");
}

TEST(RequestParser, Bodies) {
  ParsedRequest got = parse(post_with("Content-Length: 5\r\n", "helloGET"));
  EXPECT_EQ(got.request.body, "hello");
  EXPECT_EQ(got.left, "GET");
  got = parse(post_with("Transfer-Encoding: Chunked\r\n",
                        "3;ext=1\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nNEXT"));
  ASSERT_TRUE(got.complete) << got.message;
  EXPECT_EQ(got.request.body, "abc0123456789");
  EXPECT_EQ(got.left, "NEXT");
  EXPECT_TRUE(parse(post_with("")).complete);
  EXPECT_TRUE(parse(post_with("Content-Length: 0\r\n")).complete);
}

TEST(RequestParser, TrailersAreNoFields) {
  ParsedRequest got =
      parse(post_with("Transfer-Encoding: chunked\r\n", "0\r\nAuthorization: Bearer x\r\n\r\n"));
  ASSERT_TRUE(got.complete) << got.message;
  EXPECT_FALSE(got.request.headers.has("Authorization"));
}

TEST(RequestParser, OneEmptyLineInFrontIsForgiven) {
  EXPECT_TRUE(parse("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").complete);
  EXPECT_EQ(parse("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 400);
}

TEST(RequestParser, TargetForms) {
  EXPECT_EQ(parse("GET http://h:80/p?q HTTP/1.1\r\nHost: h\r\n\r\n").request.path, "/p");
  EXPECT_EQ(parse("GET HTTP://h HTTP/1.1\r\nHost: h\r\n\r\n").request.path, "/");
  EXPECT_EQ(parse("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").request.path, "*");
  for (const char* target : {"*", "h:443", "x", "http:///p", "/%", "/%zz", "/%00", "/a/../b",
                             "/%2e%2E", "/.", "/a#b", "/\x80", "/a\x7f"}) {
    ParsedRequest got = parse("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(got.status, 400) << target;
  }
}

// Each is a way to make two programs see different requests.
TEST(RequestParser, Smuggling) {
  for (const char* fields : {
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\nContent-Length: 6\r\n",
           "Content-Length: 5, 5\r\n",
           "Content-Length: +5\r\n",
           "Content-Length: -5\r\n",
           "Content-Length: 0x5\r\n",
           "Content-Length: 5 5\r\n",
           "Content-Length:\r\n",
           "Content-Length: 18446744073709551621\r\n",
           "Content-Length : 5\r\n",
           " Content-Length: 5\r\n",
           "X: a\r\n b\r\n",
           "X: a\r\n\tb\r\n",
           "X: a\nContent-Length: 5\r\n",
           "X: a\rContent-Length: 5\r\n",
           "X: a\x01\r\n",
           "X\r\n",
           ": x\r\n",
           "X Y: z\r\n",
           "X\xc3: z\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Host: other\r\n",
       }) {
    EXPECT_EQ(parse(post_with(fields, "hello")).status, 400) << fields;
  }
  using namespace std::string_view_literals;
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n"sv).status, 400);
  EXPECT_EQ(parse("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n"sv).status, 400);
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "xchunked", "chunked;q=1",
                             "identity", "\"chunked\"", ""}) {
    ParsedRequest got =
        parse(post_with("Transfer-Encoding: " + std::string(coding) + "\r\n", "0\r\n\r\n"));
    EXPECT_EQ(got.status, 501) << coding;
  }
}

TEST(RequestParser, RequestLines) {
  for (const char* line :
       {"GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET /", "GET / http/1.1",
        "G\x01T / HTTP/1.1", "G(T / HTTP/1.1", "GET / HTTP/1.1\n", "GET\t/ HTTP/1.1", ""}) {
    int status = parse(std::string(line) + "\r\nHost: h\r\n\r\n").status;
    EXPECT_TRUE(status == 400 || status == 505) << line << ": " << status;
  }
  EXPECT_EQ(parse("GET / HTTP/2.0\r\nHost: h\r\n\r\n").status, 505);
  EXPECT_EQ(parse("GET / HTTP/0.9\r\nHost: h\r\n\r\n").status, 505);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\n\r\n").status, 400) << "no Host";
  EXPECT_TRUE(parse("GET / HTTP/1.0\r\n\r\n").complete);
  EXPECT_EQ(parse("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").status, 400);
}

TEST(RequestParser, WrongChunks) {
  for (const char* chunks :
       {"x\r\nabcd", "-1\r\na\r\n", "+1\r\na\r\n", "1\na\r\n0\r\n\r\n", "1\r\naX\r\n0\r\n",
        "1\r\na\n0\r\n\r\n", " 1\r\na\r\n", "0x1\r\na\r\n0\r\n\r\n", "11111111111111111\r\na",
        "1;\x01\r\na\r\n0\r\n\r\n", "0\r\nX: a\nb\r\n\r\n", "\r\n0\r\n\r\n"}) {
    EXPECT_EQ(parse(post_with("Transfer-Encoding: chunked\r\n", chunks)).status, 400) << chunks;
  }
}

TEST(RequestParser, Limits) {
  Limits limits;
  limits.target_bytes = 100;
  limits.header_bytes = 400;
  limits.header_fields = 4;
  limits.body_bytes = 10;
  EXPECT_EQ(parse("GET /" + std::string(100, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", limits).status,
            414);
  EXPECT_EQ(parse("GET /" + std::string(500, 'a'), limits).status, 414);
  EXPECT_EQ(parse(post_with("X: " + std::string(400, 'a') + "\r\n"), limits).status, 431);
  EXPECT_EQ(parse(post_with("X: " + std::string(500, 'a')), limits).status, 431);
  EXPECT_EQ(parse(post_with("A: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\n"), limits).status, 431);
  EXPECT_TRUE(parse(post_with("A: 1\r\nA: 2\r\nA: 3\r\n"), limits).complete);
  EXPECT_EQ(parse(post_with("Content-Length: 11\r\n"), limits).status, 413);
  EXPECT_TRUE(parse(post_with("Content-Length: 10\r\n", "0123456789"), limits).complete);
  EXPECT_EQ(
      parse(post_with("Transfer-Encoding: chunked\r\n", "6\r\n012345\r\n5\r\n"), limits).status,
      413);
  EXPECT_EQ(parse(post_with("Transfer-Encoding: chunked\r\n", "1;" + std::string(500, 'a')), limits)
                .status,
            431);
  EXPECT_EQ(
      parse(post_with("Transfer-Encoding: chunked\r\n", "0\r\nX: " + std::string(500, 'a')), limits)
          .status,
      431);
}

TEST(RequestParser, NotWholeYet) {
  for (const char* text : {"", "G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: h\r\n"}) {
    ParsedRequest got = parse(text);
    EXPECT_FALSE(got.complete);
    EXPECT_EQ(got.status, 0) << got.message;
  }
  EXPECT_FALSE(parse(post_with("Content-Length: 5\r\n", "hell")).complete);
  EXPECT_FALSE(parse(post_with("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n")).complete);
}

}  // namespace
}  // namespace kw::net
