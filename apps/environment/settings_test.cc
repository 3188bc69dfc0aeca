#include "settings.h"

#include <gtest/gtest.h>

#include "text/toml.h"

namespace kw::environment_program {
namespace {

TEST(EnvironmentSettings, ComeFromTheTable) {
  const Json table = text::json_from_toml(R"(
kind = "plans"
problems = ["problems/relu", "problems/gemm"]
turns = 2
judge = "http://127.0.0.1:8100"
verdicts = "runs/verdicts.jsonl"
[reward]
terms = ["gated_log"]
max_speedup = 8
[eval]
half_width_percent = 5
max_seconds = 2
)",
                                          "test")
                         .value();
  const Settings settings = settings_from_json(table).value();
  EXPECT_EQ(settings.kind, "plans");
  EXPECT_EQ(settings.problems.size(), 2U);
  EXPECT_EQ(settings.turns, 2);
  EXPECT_EQ(settings.judge, "http://127.0.0.1:8100");
  EXPECT_EQ(settings.verdicts, "runs/verdicts.jsonl");
  EXPECT_EQ(settings.reward.terms, (std::vector<std::string>{"gated_log"}));
  EXPECT_EQ(settings.reward.max_speedup, 8);
  EXPECT_EQ(settings.eval.half_width_percent, 5);
  EXPECT_EQ(language_of(settings), task::Language::kCpp);
}

TEST(EnvironmentSettings, WrongOnesAreNamed) {
  const auto refused = [](const Json& change, const std::string& key) {
    Json table = {{"problems", {"problems/relu"}}};
    table.update(change);
    const auto settings = settings_from_json(table);
    ASSERT_FALSE(settings.has_value()) << key;
    EXPECT_NE(settings.error().message().find(key), std::string::npos)
        << settings.error().message();
  };
  refused({{"kind", "plan"}}, "environment.kind");
  refused({{"problems", Json::array()}}, "environment.problems");
  refused({{"language", "basic"}}, "environment.language");
  refused({{"turns", 0}}, "environment.turns");
  refused({{"turn", 1}}, "turns");
  refused({{"reward", {{"terms", {"speed"}}}}}, "environment.reward");
  refused({{"eval", {{"max_seconds", -1}}}}, "environment.eval");
}

}  // namespace
}  // namespace kw::environment_program
