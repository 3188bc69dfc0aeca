#include "gym/eval_options.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "task/candidate_source.h"

namespace kw::gym {
namespace {

using testing::HasSubstr;

task::Candidate baseline_candidate(const std::string& source) {
  return task::candidate_from_source("theirs.py", source).value();
}

EvalOptions unusual_options() {
  EvalOptions out;
  out.target = task::Target::kCuda;
  out.baseline = baseline_candidate("def run(x):\n    return x\n");
  out.precise = true;
  out.gpu_context = "fresh";
  out.half_width_percent = 7;
  out.process_pairs = 5;
  out.threads = 3;
  out.max_seconds = 11;
  out.timeout_seconds = 13;
  out.memory_bytes = 1ULL << 33U;
  out.timing = false;
  out.store_evidence = false;
  out.disabled = {"poison"};
  out.rivals = {"max-autotune"};
  return out;
}

TEST(EvalOptions, EveryOptionIsWrittenAndRead) {
  const Json json = to_json(unusual_options());
  const Json usual = to_json(EvalOptions{});
  EXPECT_EQ(json.size(), 14);
  for (const auto& [key, value] : json.items()) EXPECT_NE(value, usual[key]) << key;
  const auto again = eval_options_from_json(json, "o");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(to_json(*again), json);
}

TEST(EvalOptions, AVerdictDependsOnAllButTheRecord) {
  const Json deciding = verdict_options(unusual_options());
  EXPECT_EQ(deciding.size(), 13);
  EXPECT_FALSE(deciding.contains("store_evidence"));
  EXPECT_TRUE(deciding.contains("process_pairs") && deciding.contains("max_seconds"));
}

TEST(EvalOptions, ASessionIsKeptForOtherGoals) {
  EvalOptions other;
  other.max_seconds = 7;
  other.half_width_percent = 1;
  other.process_pairs = 2;
  other.precise = true;
  other.store_evidence = false;
  EXPECT_EQ(session_options(other), session_options({}));
  EXPECT_NE(verdict_options(other), verdict_options({}));
  for (const auto change : std::initializer_list<void (*)(EvalOptions&)>{
           [](EvalOptions& o) { o.threads = 2; }, [](EvalOptions& o) { o.timing = false; },
           [](EvalOptions& o) { o.timeout_seconds = 1; },
           [](EvalOptions& o) { o.memory_bytes = 1; },
           [](EvalOptions& o) { o.baseline = Compilation::kDefault; }}) {
    EvalOptions changed;
    change(changed);
    EXPECT_NE(session_options(changed), session_options({}));
  }
}

TEST(EvalOptions, ABaselineCountsByItsContent) {
  EvalOptions a, b;
  a.baseline = baseline_candidate("def run(x):\n    return x\n");
  b.baseline = baseline_candidate("def run(x):\n    return x + 0\n");
  EXPECT_NE(verdict_options(a), verdict_options(b));
  EXPECT_EQ(name_of(a.baseline), "theirs");
  EXPECT_EQ(name_of(EvalOptions{}.baseline), "eager");
}

TEST(EvalOptions, AReaderOpensNoFile) {
  const auto read = eval_options_from_json({{"baseline", "/etc/passwd"}}, "o");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(),
            "o.baseline: expected \"eager\", \"compile\", \"max-autotune\" or a candidate");
}

TEST(EvalOptions, ErrorsNameKeysOrFlags) {
  const auto message = [](const Json& json) {
    return eval_options_from_json(json, "o").error().message();
  };
  EXPECT_EQ(message({{"process_pairs", 65}}), "o.process_pairs: 65 is not between 0 and 64");
  EXPECT_EQ(message({{"threads", 0}}), "o.threads: 0 is not between 1 and 1024");
  EXPECT_EQ(message({{"target", ""}}), R"(o.target: "" is not one of cpu, interpret, cuda)");
  EXPECT_EQ(message({{"rivals", {"eager", "faster"}}}),
            "o.rivals: \"faster\": expected eager, compile or max-autotune");
  EXPECT_THAT(message({{"thread", 1}}), HasSubstr("threads"));
  EXPECT_THAT(message({{"memory_bytes", -1}}), HasSubstr("o.memory_bytes"));
  EXPECT_THAT(message({{"gpu_context", "mine"}}), HasSubstr("o.gpu_context"));
  EvalOptions options;
  options.max_seconds = std::numeric_limits<double>::infinity();
  EXPECT_EQ(check(options, OptionNames::kFlags).error().message(),
            "--max-seconds: inf is not between 0.01 and 86400");
  options = {};
  options.timeout_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(check(options, OptionNames::kFlags).error().message(),
            "--timeout: nan is not between 0 and 86400");
}

}  // namespace
}  // namespace kw::gym
