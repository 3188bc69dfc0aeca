// Patterns and their order.
#include "net/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::net {
namespace {

Handler none() {
  return [](const Request&, const Responder&) {};
}

Router example() {
  Router router;
  router.add("GET", "/v1/models/{id}", none());
  router.add("GET", "/v1/models", none());
  router.add("POST", "/v1/models/{id}", none());
  router.add("GET", "/v1/models/best", none());
  router.add("GET", "/files/{path...}", none());
  router.add("GET", "/", none());
  router.add("DELETE", "/v1/{kind}/{id}/logs", none());
  return router;
}

std::string pattern(const Router& router, std::string_view method, std::string_view path) {
  auto match = router.match(method, path);
  return match.route != nullptr ? match.route->pattern : "405 or 404: " + match.allow;
}

TEST(Router, Patterns) {
  Router router = example();
  EXPECT_EQ(pattern(router, "GET", "/"), "/");
  EXPECT_EQ(pattern(router, "GET", "/v1/models"), "/v1/models");
  EXPECT_EQ(pattern(router, "GET", "/v1/models/"), "405 or 404: ");
  EXPECT_EQ(pattern(router, "GET", "/v1/models/x"), "/v1/models/{id}");
  EXPECT_EQ(pattern(router, "GET", "/v1/models/best"), "/v1/models/best");
  EXPECT_EQ(pattern(router, "HEAD", "/v1/models/best"), "/v1/models/best");
  EXPECT_EQ(pattern(router, "GET", "/v1/models/x/y"), "405 or 404: ");
  EXPECT_EQ(pattern(router, "GET", "/files/a/b"), "/files/{path...}");
  EXPECT_EQ(pattern(router, "GET", "//v1/models"), "405 or 404: ");
  EXPECT_EQ(pattern(router, "get", "/"), "405 or 404: GET, HEAD, OPTIONS");
}

TEST(Router, MethodsOfAPath) {
  Router router = example();
  EXPECT_EQ(router.match("PUT", "/v1/models/x").allow, "GET, HEAD, POST, OPTIONS");
  // The fixed path has no POST, the parameter's has.
  EXPECT_EQ(pattern(router, "POST", "/v1/models/best"), "/v1/models/{id}");
}

TEST(Router, ParametersAreDecodedAfterSplitting) {
  Router router = example();
  auto match = router.match("GET", "/v1/models/a%2Fb%20c");
  ASSERT_NE(match.route, nullptr);
  ASSERT_EQ(match.parameters.size(), 1U);
  EXPECT_EQ(match.parameters[0].name, "id");
  EXPECT_EQ(match.parameters[0].value, "a/b c");
  match = router.match("DELETE", "/v1/k/i/logs");
  ASSERT_EQ(match.parameters.size(), 2U);
  EXPECT_EQ(match.parameters[1].value, "i");
  EXPECT_EQ(router.match("GET", "/files/a/b").parameters[0].value, "a/b");
  EXPECT_EQ(pattern(router, "GET", "/v1/%6dodels"), "/v1/models");
}

TEST(RouterDeathTest, WrongPatterns) {
  Router router = example();
  EXPECT_DEATH(router.add("GET", "/", none()), "pattern");
  EXPECT_DEATH(router.add("GET", "no/slash", none()), "starts_with");
  EXPECT_DEATH(router.add("GET", "/{path...}/x", none()), "is_rest");
  EXPECT_DEATH(router.add("GET", "/a{b}", none()), "segment");
}

}  // namespace
}  // namespace kw::net
