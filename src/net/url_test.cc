// URLs that are accepted, and what is wrong with those that are not.
#include "net/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Url, PartsAndDefaults) {
  auto url = parse_url("HTTP://Example.COM");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->scheme, "http");
  EXPECT_EQ(url->host, "example.com");
  EXPECT_EQ(url->port, 80);
  EXPECT_EQ(url->target, "/");
  EXPECT_EQ(url->host_field(), "example.com");
  EXPECT_EQ(url->authority(), "example.com:80");

  url = parse_url("https://[::1]:8443/v1/models?limit=2");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/v1/models?limit=2");
  EXPECT_EQ(url->host_field(), "[::1]:8443");
  EXPECT_EQ(url->text(), "https://[::1]:8443/v1/models?limit=2");

  EXPECT_EQ(parse_url("https://h?q").value().target, "/?q");
  EXPECT_EQ(parse_url("https://h").value().port, 443);
}

TEST(Url, Refused) {
  for (const char* text :
       {"", "example.com", "ftp://h", "http://", "http:///x", "http://h:", "http://h:0",
        "http://h:65536", "http://h:8x", "http://h:-1", "http://[::1", "http://[::1]x",
        "http://[zz::1]", "http://h /", "http://h/\r\nX: 1", "http://h/\xc3\xa4", "http://h/#f",
        "http://a\\b/"}) {
    auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(url.error().message(), HasSubstr("URL \""));
  }
}

TEST(Url, SecretsAreNotRepeated) {
  auto url = parse_url("https://user:hunter2@host/");
  ASSERT_FALSE(url);
  EXPECT_THAT(url.error().message(), Not(HasSubstr("hunter2")));
}

TEST(Percent, DecodesAndEncodes) {
  EXPECT_EQ(percent_decode("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(percent_decode("%C3%a4"), "\xc3\xa4");
  for (const char* text : {"%", "%4", "%4g", "%00", "a%"})
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
  EXPECT_EQ(percent_encode("a b/\xc3\xa4~"), "a%20b%2F%C3%A4~");
}

TEST(Query, Pairs) {
  EXPECT_THAT(*parse_query("a=1&b=x+y%26&c&=d&&e=f=g"),
              ElementsAre(Pair("a", "1"), Pair("b", "x y&"), Pair("c", ""), Pair("", "d"),
                          Pair("e", "f=g")));
  EXPECT_EQ(parse_query("a=%zz"), std::nullopt);
}

TEST(Url, LoopbackHosts) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (const char* host : {"127.example.com", "0.0.0.0", "::", "10.0.0.1", "example.com", ""})
    EXPECT_FALSE(is_loopback_host(host)) << host;
}

}  // namespace
}  // namespace kw::net
