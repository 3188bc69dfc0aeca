// Sizes, levels, settings and ranges from the command line.
#include "kernelwright/cli/settings.h"

#include <gtest/gtest.h>

namespace kw::front {
namespace {

TEST(Settings, Sizes) {
  EXPECT_EQ(parse_bytes("0").value(), 0U);
  EXPECT_EQ(parse_bytes("512").value(), 512U);
  EXPECT_EQ(parse_bytes("4GiB").value(), 4ULL << 30U);
  EXPECT_EQ(parse_bytes(" 1.5 MiB ").value(), 3ULL << 19U);
  EXPECT_EQ(parse_bytes("2K").value(), 2048U);
  EXPECT_EQ(parse_bytes("2KB").value(), 2048U);
  for (const char* bad :
       {"", "GiB", "-1", "1e30", "4gigs", "1.2.3", "nan", "99999999999999999999T", "1 2"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(Settings, Levels) {
  EXPECT_EQ(parse_level("namespaces").value(), sandbox::Level::kNamespaces);
  EXPECT_EQ(sandbox::to_string(sandbox::Level::kFull), "full");
  EXPECT_NE(parse_level("ful").error().message().find("did you mean \"full\""), std::string::npos);
}

TEST(Settings, DottedNamesAreSettings) {
  std::vector<std::string> words = {"batch_size=16",           "eval.threads=2",
                                    "eval.baseline='compile'", "shape=(1.5, 2)",
                                    "eval.precise=True",       "eval.memory_bytes=1GiB"};
  gym::EvalOptions options;
  ASSERT_TRUE(take_settings(words, options));
  EXPECT_EQ(words, (std::vector<std::string>{"batch_size=16", "shape=(1.5, 2)"}));
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(gym::name_of(options.baseline), "compile");
  EXPECT_TRUE(options.precise);
  EXPECT_EQ(options.memory_bytes, 1ULL << 30U);
}

TEST(Settings, UnknownAndIllFormed) {
  auto message = [](std::string word) {
    std::vector<std::string> words = {std::move(word)};
    gym::EvalOptions options;
    auto status = take_settings(words, options);
    return status ? std::string() : status.error().message();
  };
  EXPECT_NE(message("eval.thread=2").find("did you mean \"eval.threads\""), std::string::npos);
  EXPECT_NE(message("eval.threads=two").find("whole number"), std::string::npos);
  EXPECT_NE(message("eval.threads=2.5").find("whole number"), std::string::npos);
  EXPECT_NE(message("eval.threads=99999999999999").find("whole number"), std::string::npos);
  EXPECT_NE(message("eval.precise=maybe").find("true or false"), std::string::npos);
  EXPECT_NE(message("eval.max_seconds=").find("a number"), std::string::npos);
}

TEST(Settings, TheBaselineIsReadAndRangesAreChecked) {
  std::vector<std::string> set = {"eval.threads=0"};
  gym::EvalOptions options;
  EXPECT_EQ(complete_options("eager", set, options).error().message(),
            "--threads: 0 is not between 1 and 1024");
  options = {};
  set = {"N=4"};
  ASSERT_TRUE(complete_options("compile", set, options));
  EXPECT_EQ(gym::name_of(options.baseline), "compile");
  EXPECT_EQ(set, std::vector<std::string>{"N=4"});
  EXPECT_EQ(complete_options("", set, options).error().message(),
            "--baseline: empty; expected eager, compile, max-autotune or a file");
  EXPECT_NE(complete_options("/nonexistent.cpp", set, options).error().message().find("--baseline"),
            std::string::npos);
}

}  // namespace
}  // namespace kw::front
