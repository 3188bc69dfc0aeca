// Tests of what is handed on of a request, as text.
#include "net/forwarded_request.h"

#include <gtest/gtest.h>

namespace kw::net {
namespace {

Request request_of(std::string method, std::string path, Headers headers = {},
                   std::string body = "") {
  Request out;
  out.method = std::move(method);
  out.path = std::move(path);
  out.headers = std::move(headers);
  out.body = std::move(body);
  return out;
}

Headers fields_of(const std::vector<std::pair<std::string, std::string>>& list) {
  Headers out;
  for (const auto& [name, value] : list) out.add(name, value);
  return out;
}

const Url kLeader{"http", "leader", 8100, "/"};

TEST(ForwardedRequest, IsWrittenAnew) {
  Request post = request_of("POST", "/v1/a%20b",
                            fields_of({{"host", "me:1"},
                                       {"content-length", "999"},
                                       {"Transfer-Encoding", "chunked"},
                                       {"Expect", "100-continue"},
                                       {"authorization", "Bearer key"},
                                       {"User-Agent", "mine"},
                                       {"Cookie", "a"},
                                       {"Cookie", "b"}}),
                            "body");
  post.query = "wait=1&x=%2F";
  EXPECT_EQ(forwarded_request(post, kLeader),
            "POST /v1/a%20b?wait=1&x=%2F HTTP/1.1\r\nHost: leader:8100\r\nauthorization: Bearer "
            "key\r\nUser-Agent: mine\r\nCookie: a\r\nCookie: b\r\nVia: 1.1 "
            "kernelwright\r\nContent-Length: 4\r\n\r\nbody");
}

TEST(ForwardedRequest, KeepsItsMethodAndLength) {
  EXPECT_EQ(forwarded_request(request_of("GET", "/"), kLeader),
            "GET / HTTP/1.1\r\nHost: leader:8100\r\nVia: 1.1 kernelwright\r\n\r\n");
  EXPECT_TRUE(
      forwarded_request(request_of("HEAD", "/"), kLeader).starts_with("GET / HTTP/1.1\r\n"));
  EXPECT_TRUE(forwarded_request(request_of("DELETE", "/a"), kLeader)
                  .ends_with("\r\nContent-Length: 0\r\n\r\n"));
}

TEST(ForwardedRequest, FieldsOfTheConnectionStay) {
  const Headers out = end_to_end_fields(fields_of({{"Connection", "close, X-Mine"},
                                                   {"connection", "x-other"},
                                                   {"X-Mine", "1"},
                                                   {"X-Other", "2"},
                                                   {"Keep-Alive", "timeout=5"},
                                                   {"Proxy-Connection", "keep-alive"},
                                                   {"Proxy-Authorization", "secret"},
                                                   {"TE", "trailers"},
                                                   {"Trailer", "X"},
                                                   {"Upgrade", "h2c"},
                                                   {"Last-Event-ID", "7"}}));
  ASSERT_EQ(out.fields().size(), 1U);
  EXPECT_EQ(out.fields()[0].name, "Last-Event-ID");
}

TEST(ForwardedRequest, NothingEndsALine) {
  EXPECT_EQ(forwarded_request(request_of("GET", "/a b"), kLeader), "");
  EXPECT_EQ(forwarded_request(request_of("GET", "/a\r\nX: y"), kLeader), "");
  EXPECT_EQ(forwarded_request(request_of("GET /", "/"), kLeader), "");
  EXPECT_EQ(forwarded_request(request_of("GET", "/", fields_of({{"X", "a\nb"}})), kLeader), "");
  EXPECT_EQ(forwarded_request(request_of("GET", "/", fields_of({{"X: y", "a"}})), kLeader), "");
}

TEST(ForwardedRequest, IsKnownAgain) {
  EXPECT_FALSE(was_forwarded(request_of("GET", "/")));
  EXPECT_FALSE(was_forwarded(request_of("GET", "/", fields_of({{"Via", "1.1 nginx"}}))));
  EXPECT_TRUE(was_forwarded(request_of("GET", "/", fields_of({{"via", "1.1 kernelwright"}}))));
  EXPECT_TRUE(was_forwarded(request_of(
      "GET", "/", fields_of({{"Via", "1.1 nginx"}, {"Via", "1.0 a, 1.1 Kernelwright"}}))));
}

}  // namespace
}  // namespace kw::net
