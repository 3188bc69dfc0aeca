#include "base/settings_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw {
namespace {

struct Settings {
  std::string name = "none";
  bool fast = false;
  double rate = 0.5;
  int threads = -1;
  std::int64_t steps = 7;
  std::uint64_t seed = 3;
  std::vector<std::string> files = {"a"};
  std::vector<double> weights;
};

template <typename S, typename Visit>
void describe(S& settings, Visit&& visit) {
  visit("name", settings.name);
  visit("fast", settings.fast);
  visit("rate", settings.rate);
  visit("threads", settings.threads);
  visit("steps", settings.steps);
  visit("seed", settings.seed);
  visit("files", settings.files);
  visit("weights", settings.weights);
}

Result<Settings> read(const std::string& text) {
  return settings_from_json<Settings>(parse_json(text).value(), "settings");
}

std::string error_of(const std::string& text) {
  auto settings = read(text);
  return settings ? "no error" : settings.error().message();
}

TEST(SettingsJson, WhatIsWrittenIsReadAgain) {
  Settings settings{"x", true, 0.25, 4, 1 << 30, 9, {"b", "c"}, {1, 0.5}};
  const Json json = settings_to_json(settings);
  auto again = settings_from_json<Settings>(json, "settings");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(settings_to_json(*again), json);
  EXPECT_EQ(json.size(), 8);
}

TEST(SettingsJson, MissingKeysAndNullKeepDefaults) {
  auto settings = read(R"({"threads": 2, "name": null, "files": null})");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->threads, 2);
  EXPECT_EQ(settings->name, "none");
  EXPECT_EQ(settings->steps, 7);
  EXPECT_EQ(settings->files, std::vector<std::string>{"a"});
}

TEST(SettingsJson, ASingleTextIsAListOfOne) {
  EXPECT_EQ(read(R"({"files": "b"})").value().files, std::vector<std::string>{"b"});
}

TEST(SettingsJson, ErrorsNameTheKey) {
  EXPECT_THAT(error_of(R"({"thread": 2})"), testing::HasSubstr("threads"));
  EXPECT_EQ(error_of(R"({"threads": 3000000000})"), "settings.threads: 3000000000 is out of range");
  EXPECT_EQ(error_of(R"({"threads": -3000000000})"),
            "settings.threads: -3000000000 is out of range");
  EXPECT_EQ(error_of(R"({"seed": -1})"), "settings.seed: expected 0 or more");
  EXPECT_EQ(error_of(R"({"weights": [1, "x"]})"), "settings.weights: expected a list of numbers");
  EXPECT_THAT(error_of(R"({"fast": 1})"), testing::HasSubstr("settings.fast"));
  EXPECT_THAT(error_of(R"({"files": [1]})"), testing::HasSubstr("settings.files"));
}

}  // namespace
}  // namespace kw
