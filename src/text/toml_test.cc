#include "text/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::text {
namespace {

TEST(Toml, WhatIsWrittenIsReadAgain) {
  const Json value = {{"name", "a \"b\"\n"},
                      {"list", {1, 2.5, "x"}},
                      {"empty", Json::array()},
                      {"table", {{"odd key", true}, {"below", {{"n", -3}}}}},
                      {"objects", {{{"path", "a.cpp"}, {"content", "x\n"}}, Json::object()}}};
  const std::string text = to_toml(value);
  const auto again = json_from_toml(text, "t");
  ASSERT_TRUE(again) << again.error().message() << text;
  EXPECT_EQ(canonical_json(*again), canonical_json(value)) << text;
}

TEST(Toml, MembersThatAreNullAreLeftOut) {
  const Json value = {{"gone", nullptr}, {"objects", {{{"binding", nullptr}, {"n", 1}}}}};
  const auto again = json_from_toml(to_toml(value), "t");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, Json({{"objects", {{{"n", 1}}}}}));
}

TEST(Toml, ErrorsNameTheLine) {
  const auto read = json_from_toml("a = 1\nb =\n", "t");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), ::testing::StartsWith("t:2:"));
}

}  // namespace
}  // namespace kw::text
