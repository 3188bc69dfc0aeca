// Filter: what is judged, and that it goes on wherever it was cut.
#include "data/filter.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/binomial.h"
#include "data/strata.h"
#include "data/testing/session.h"
#include "task/kernelbench.h"

namespace kw::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(SessionTest, FilterKeepsWhatPassesWithItsVerdict) {
  Sample chat;
  chat.messages = {{"user", "Hi"}, {"assistant", "Hello"}};
  chat.group = "chat";
  Sample no_code = sample_with("none");
  no_code.messages[1].content = "I cannot.";
  Sample echo = sample_with("right echo");
  echo.messages[0].content = echo.messages[1].content;
  Sample bad = sample_with("right bad");
  bad.problem->source += " ";
  bad.problem->hash = "0";
  write("in.jsonl", {sample_with("right 1"), sample_with("wrong 1"), chat, no_code,
                     sample_with("flaky"), bad, sample_with("right 1")});
  auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(groups_in("out.jsonl"), ElementsAre("right 1", "chat", "flaky", "right 1"));
  EXPECT_EQ(judge.judged["right 1"], 1);
  EXPECT_EQ(report->retries, 1U);
  EXPECT_EQ(report->not_judged, 1U);
  EXPECT_EQ(Json(report->outcomes).dump(),
            R"({"bad_problem":1,"no_code":1,"passed":2,"wrong_value":1})");
  const Sample first = samples_in("out.jsonl")[0];
  EXPECT_EQ(first.verdict["outcome"], "passed");
  EXPECT_EQ(first.verdict["evidence"], "right 1");
  EXPECT_THAT(read("rejected.jsonl"), HasSubstr("y[3] is off in wrong 1"));
}

// Neither an example, nor a fault of the problem; as the first answer of a repair it is wrong.
TEST_F(SessionTest, ABorderlinePassIsNoVerifiedExample) {
  const auto pending = [](const std::string& mark, const std::string& previous, Kind kind) {
    Sample out = sample_with(mark, kind);
    out.pending = Pending{code(previous), "zero_shot"};
    return out;
  };
  write("in.jsonl",
        {sample_with("right 1"), sample_with("near 1"), pending("right r", "near r", Kind::kRepair),
         pending("right s", "near s", Kind::kSpeedup)});
  const auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(groups_in("out.jsonl"), ElementsAre("right 1", "right r"));
  EXPECT_EQ(Json(report->outcomes).dump(), R"({"borderline":1,"not_right":1,"passed":2})");
  EXPECT_EQ(report->problem_faults, 0U);
  EXPECT_THAT(read("rejected.jsonl"), HasSubstr("two further draws decided on near 1"));
}

TEST_F(SessionTest, PendingSamplesGetTheQuestionFromTheirFirstAnswersVerdict) {
  const auto pending = [](const std::string& mark, const std::string& previous, Kind kind) {
    Sample out = sample_with(mark, kind);
    out.pending = Pending{code(previous), "zero_shot"};
    return out;
  };
  write("in.jsonl", {pending("right r", "wrong r", Kind::kRepair),
                     pending("right s", "right before", Kind::kRepair),
                     pending("right t", "slow t", Kind::kSpeedup),
                     pending("right u", "right v", Kind::kSpeedup),
                     pending("right w", "wrong w", Kind::kSpeedup)});
  auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(Json(report->outcomes).dump(),
            R"({"not_faster":1,"not_right":1,"not_wrong":1,"passed":2})");
  const auto kept = samples_in("out.jsonl");
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_FALSE(kept[0].pending);
  ASSERT_EQ(kept[0].messages.size(), 2U);
  EXPECT_THAT(kept[0].messages[0].content, HasSubstr("y[3] is off in wrong r"));
  EXPECT_THAT(kept[0].messages[0].content, HasSubstr("// wrong r"));
  EXPECT_EQ(kept[0].answer(), code("right r"));
  EXPECT_FALSE(judge.timed["right r"]);
  EXPECT_TRUE(judge.timed["slow t"]);
  EXPECT_EQ(kept[1].verdict["speedup"]["median"], 2);
}

TEST_F(SessionTest, FilterGoesOnWhereverItWasKilled) {
  std::vector<Sample> samples;
  for (int i = 0; i < 6; ++i)
    samples.push_back(sample_with(fmt::format("{} {}", i % 3 == 0 ? "wrong" : "right", i)));
  write("in.jsonl", samples);
  ASSERT_TRUE(filter("log.jsonl", "whole.jsonl"));
  const auto cuts = cuts_of("log.jsonl");
  ASSERT_EQ(cuts.size(), 15U);
  for (const std::string& cut : cuts) {
    std::ofstream(path("cut.jsonl"), std::ios::trunc) << cut;
    judge.judged.clear();
    auto report = filter("cut.jsonl");
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(read("out.jsonl"), read("whole.jsonl"));
    const auto lines = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n'));
    const std::size_t logged = lines > 0 ? lines - 1 : 0;
    EXPECT_EQ(judge.judged.size(), 6 - logged);
    EXPECT_EQ(report->earlier, logged);
    EXPECT_EQ(report->outcomes["passed"], 4U);
  }
  settings.eval.threads = 2;
  auto other = filter("log.jsonl");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("log.jsonl:1: written with other settings"));
}

TEST_F(SessionTest, CellsPendingSamplesAndRejectedRowsAreTheSameAfterEveryCut) {
  std::vector<Sample> samples;
  for (int i = 0; i < 40; ++i) {
    const bool bad = i % 4 == 0;
    Sample sample = sample_with(fmt::format("{} {}", bad ? "wrong" : "right", i));
    sample.labels.operators = {bad ? "softmax" : "add"};
    sample.labels.strategy = "row";
    sample.origin = {{"generator", "writer"}, {"index", i}};
    samples.push_back(std::move(sample));
  }
  for (const char* mark : {"right p", "wrong p"}) {
    samples.push_back(sample_with(mark, Kind::kRepair));
    samples.back().pending = Pending{code(fmt::format("wrong before {}", mark)), "zero_shot"};
  }
  samples.push_back(sample_with("flaky"));
  write("in.jsonl", samples);
  settings.per_cell = 3;
  auto first = filter("log.jsonl", "whole.jsonl");
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->retries, 1U);
  EXPECT_THAT(first->sampling.failing_cells, ElementsAre("softmax | row | cpp"));
  const std::string rejected = read("rejected.jsonl");
  EXPECT_EQ(std::count(rejected.begin(), rejected.end(), '\n'), 11);
  EXPECT_THAT(rejected, HasSubstr("its cell fails"));
  std::map<std::string, int> before = judge.judged;
  EXPECT_EQ(before.size(), 6U + 4U + 1U);
  for (const std::string& cut : cuts_of("log.jsonl")) {
    std::ofstream(path("cut.jsonl"), std::ios::trunc) << cut;
    judge.judged.clear();
    auto report = filter("cut.jsonl");
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(read("out.jsonl"), read("whole.jsonl"));
    EXPECT_EQ(read("rejected.jsonl"), rejected);
    const auto lines = static_cast<std::uint64_t>(std::count(cut.begin(), cut.end(), '\n'));
    EXPECT_EQ(report->earlier, lines > 0 ? lines - 1 : 0);
    EXPECT_EQ(report->outcomes, first->outcomes);
    EXPECT_EQ(report->sampling.judged, 6U);
    EXPECT_EQ(report->sampling.dropped, first->sampling.dropped);
  }
}

// A kill while the output is written leaves the log whole and a piece under another name.
TEST_F(SessionTest, AKillDuringTheLastWritingCostsNoJudgement) {
  write("in.jsonl", {sample_with("right 1"), sample_with("wrong 1"), sample_with("right 2")});
  ASSERT_TRUE(filter("log.jsonl", "whole.jsonl"));
  const std::string whole = read("whole.jsonl");
  for (std::size_t size : {std::size_t{0}, whole.size() / 2, whole.size()}) {
    std::ofstream(path("out.jsonl.partial"), std::ios::trunc) << whole.substr(0, size);
    std::ofstream(path("rejected.jsonl.partial"), std::ios::trunc) << "{\"id\": \"ha";
    judge.judged.clear();
    ASSERT_TRUE(filter("log.jsonl"));
    EXPECT_TRUE(judge.judged.empty());
    EXPECT_EQ(read("out.jsonl"), whole);
    EXPECT_FALSE(std::filesystem::exists(path("out.jsonl.partial")));
    EXPECT_THAT(read("rejected.jsonl"), HasSubstr("y[3] is off in wrong 1"));
  }
}

TEST_F(SessionTest, AFullDiskLosesNoFinding) {
  std::vector<Sample> samples;
  for (int i = 0; i < 6; ++i) samples.push_back(sample_with(fmt::format("right {}", i)));
  write("in.jsonl", samples);
  ASSERT_TRUE(filter("log.jsonl", "whole.jsonl"));
  const std::size_t whole = read("log.jsonl").size();
  for (std::size_t bytes : {whole / 4, whole / 2, whole - 1}) {
    std::filesystem::remove(path("small.jsonl"));
    {
      FullDisk disk(bytes);
      auto report = filter("small.jsonl");
      ASSERT_FALSE(report);
      EXPECT_THAT(report.error().message(), HasSubstr("small.jsonl: cannot write"));
    }
    EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
    const std::string kept = read("small.jsonl");
    const auto lines = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), '\n'));
    judge.judged.clear();
    auto report = filter("small.jsonl");
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->earlier, lines > 0 ? lines - 1 : 0);
    EXPECT_EQ(judge.judged.size(), 6 - report->earlier);
    EXPECT_TRUE(read("small.jsonl").starts_with(kept));
    EXPECT_EQ(read("out.jsonl"), read("whole.jsonl"));
    std::filesystem::remove(path("out.jsonl"));
  }
}

TEST_F(SessionTest, OurFailuresAreNoFindings) {
  write("in.jsonl", {sample_with("right 1"), sample_with("broken")});
  auto report = filter("log.jsonl");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(report.error().message(), HasSubstr("1 samples could not be judged"));
  EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
  EXPECT_EQ(judge.judged["broken"], 1);  // no retry can help
  settings.skip_failed = true;
  report = filter("log.jsonl");
  ASSERT_TRUE(report);
  EXPECT_EQ(judge.judged["right 1"], 1);
  EXPECT_EQ(report->failed, 1U);
  EXPECT_THAT(groups_in("out.jsonl"), ElementsAre("right 1"));
  stop.request_stop();
  report = filter("other.jsonl");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kCancelled);
}

TEST_F(SessionTest, AFailingCellIsDroppedAndTheOthersAreSampled) {
  std::vector<Sample> samples;
  for (int i = 0; i < 400; ++i) {
    const bool bad = i % 4 == 0;  // softmax in strategy "split" is wrong
    Sample sample = sample_with(fmt::format("{} {}", bad ? "wrong" : "right", i));
    sample.labels.operators = {bad || i % 4 == 1 ? "softmax" : "add", "mul"};
    sample.labels.strategy = bad ? "split" : "row";
    sample.origin = {{"generator", "writer"}, {"index", i}};
    samples.push_back(std::move(sample));
  }
  for (int i = 0; i < 400; i += 4)
    samples[static_cast<std::size_t>(i) + 2].labels.strategy = "split";
  write("in.jsonl", samples);
  settings.per_cell = 30;
  auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(report->sampling.failing_cells, ElementsAre("softmax | split | cpp"));
  EXPECT_EQ(report->sampling.cells, 6U);
  EXPECT_TRUE(report->sampling.small_cells.empty());
  EXPECT_LT(judge.judged.size(), 400U);
  EXPECT_GE(report->sampling.judged, 4U * 30U);
  EXPECT_EQ(report->kept, 300U);
  EXPECT_EQ(report->sampling.dropped + report->sampling.failures, 100U);
  for (const Sample& sample : samples_in("out.jsonl"))
    EXPECT_FALSE(sample.labels.strategy == "split" && sample.labels.operators[0] == "softmax");
  CellFindings findings;
  for (const Sample& sample : samples) findings.add(sample, sample.group.starts_with("right"));
  EXPECT_THAT(findings.failing(), ElementsAre("softmax | split | cpp"));
}

// A generator's sample, whose problem no other sample has.
Sample in_cell(const std::string& mark, const std::string& op, const std::string& problem) {
  Sample out = sample_with(mark);
  out.problem = sample_problem(double_problem(problem)).value();
  out.labels.operators = {op};
  out.labels.strategy = "row";
  out.origin = {{"generator", "writer"}};
  return out;
}

TEST_F(SessionTest, WhatIsTheProblemsFaultSaysNothingOfTheCellsAndOthersTakeItsPlace) {
  std::vector<Sample> samples;
  for (int i = 0; i < 60; ++i) {
    const char* of_add = i % 3 == 0 ? "quarantined" : "right";
    const char* of_softmax = i % 3 == 0 ? "noisy" : "wrong";
    samples.push_back(in_cell(fmt::format("{} a{}", of_add, i), "add", fmt::format("a{}", i)));
    samples.push_back(
        in_cell(fmt::format("{} s{}", of_softmax, i), "softmax", fmt::format("s{}", i)));
  }
  write("in.jsonl", samples);
  settings.per_cell = 12;
  const auto first = filter("log.jsonl", "whole.jsonl");
  ASSERT_TRUE(first) << first.error().message();
  const SamplingReport& sampling = first->sampling;
  EXPECT_THAT(sampling.failing_cells, ElementsAre("softmax | row | cpp"));
  EXPECT_TRUE(sampling.small_cells.empty());
  EXPECT_EQ(sampling.judged, 24U) << "each cell has its number";
  EXPECT_EQ(sampling.failures, 12U);
  EXPECT_EQ(sampling.judged_of_kept, 12U);
  EXPECT_GT(first->problem_faults, 0U);
  EXPECT_EQ(judge.judged.size(), 24U + first->problem_faults);
  std::map<std::string, std::uint64_t> outcomes = first->outcomes;
  EXPECT_EQ(outcomes["quarantined"] + outcomes["noisy"], first->problem_faults);
  const std::string rejected = read("rejected.jsonl");
  EXPECT_THAT(rejected, HasSubstr(R"("outcome":"quarantined")"));
  const auto kept = groups_in("whole.jsonl");
  for (const auto& [mark, count] : judge.judged) {
    const bool stays = mark.starts_with("right");
    EXPECT_EQ(std::count(kept.begin(), kept.end(), mark), stays ? 1 : 0) << mark;
  }
  for (const std::string& cut : cuts_of("log.jsonl")) {
    std::ofstream(path("cut.jsonl"), std::ios::trunc) << cut;
    const auto report = filter("cut.jsonl");
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(read("out.jsonl"), read("whole.jsonl"));
    EXPECT_EQ(read("rejected.jsonl"), rejected);
    EXPECT_EQ(report->outcomes, first->outcomes);
  }
}

TEST_F(SessionTest, SamplesOfABrokenProblemGoWithTheOneThatShowsIt) {
  write("in.jsonl",
        {in_cell("quarantined 1", "add", "broken"), in_cell("quarantined 2", "add", "broken"),
         in_cell("right 1", "add", "fine"), in_cell("right 2", "add", "fine")});
  settings.per_cell = 1;
  // Until the one that is chosen is of the broken problem.
  for (settings.seed = 0;; ++settings.seed) {
    ASSERT_LT(settings.seed, 100U);
    const auto report = filter(fmt::format("log{}.jsonl", settings.seed));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->sampling.judged, 1U);
    EXPECT_EQ(report->sampling.failures, 0U);
    if (report->problem_faults != 1) continue;
    EXPECT_EQ(report->sampling.dropped_with_problem, 1U);
    EXPECT_THAT(groups_in("out.jsonl"), ElementsAre("right 1", "right 2"));
    return;
  }
}

TEST_F(SessionTest, SmallCellsAreNamedDroppedOrRefused) {
  std::vector<Sample> samples;
  for (int i = 0; i < 5; ++i)
    samples.push_back(in_cell(fmt::format("right {}", i), "add", fmt::format("p{}", i)));
  samples.push_back(in_cell("right rare", "scan", "rare"));
  samples.push_back(in_cell("quarantined", "sort", "broken"));
  write("in.jsonl", samples);
  settings.per_cell = 3;
  const std::map<std::string, std::uint64_t> small = {{"scan | row | cpp", 1},
                                                      {"sort | row | cpp", 0}};
  auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->sampling.small_cells, small);
  EXPECT_EQ(to_json(*report)["sampling"]["small_cells"], Json(small));
  EXPECT_EQ(report->kept, 6U);
  settings.small_cells = SmallCells::kDropped;
  report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->kept, 5U);
  EXPECT_EQ(report->sampling.dropped_as_small, 1U);
  EXPECT_THAT(read("rejected.jsonl"), HasSubstr("its cell has too few samples"));
  settings.small_cells = SmallCells::kRefused;
  report = filter("log.jsonl");
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("scan | row | cpp (1)"));
  EXPECT_THAT(report.error().message(), HasSubstr("sort | row | cpp (0)"));
}

TEST_F(SessionTest, OutcomesAreCountedByTheirCauses) {
  Sample no_code = sample_with("none");
  no_code.messages[1].content = "I cannot.";
  Sample other_entry = sample_with("other");
  other_entry.messages[1].content = "```cpp\nint walk() { return 1; }\n```";
  Sample pending = sample_with("right r", Kind::kRepair);
  pending.pending = Pending{code("quarantined before"), "zero_shot"};
  Sample slow = sample_with("right s", Kind::kSpeedup);
  slow.pending = Pending{code("quarantined then"), "zero_shot"};
  write("in.jsonl", {no_code, other_entry, sample_with("cheats"), pending, slow});
  const auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(Json(report->outcomes).dump(), R"({"no_code":2,"quarantined":2,"violation":1})");
  EXPECT_EQ(Json(report->causes).dump(),
            R"({"no_code/no_block":1,"no_code/no_entry":1,"violation/library":1})");
  EXPECT_EQ(report->problem_faults, 2U);
  EXPECT_THAT(read("rejected.jsonl"), HasSubstr(R"("cause":"no_entry")"));
}

TEST_F(SessionTest, AnAnswerThatIsWrongForTheModuleAtOtherSizesGoes) {
  const auto module_of = [](int size) {
    return fmt::format(
        "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return "
        "2 * x\n\ndef get_inputs():\n    return [torch.rand({})]\n\ndef get_init_inputs():\n    "
        "return []\n",
        size);
  };
  std::vector<Sample> samples;
  for (const char* mark : {"right", "elsewhere", "almost", "right alone"}) {
    Sample sample = sample_with(mark, Kind::kConvert);
    sample.problem =
        sample_problem(task::module_problem(
                           "double", *task::make_module(module_of(1024), "Model", {}), "test"))
            .value();
    if (sample.group != "right alone") sample.problem->resized = {module_of(33), module_of(64)};
    samples.push_back(std::move(sample));
  }
  write("in.jsonl", samples);
  const auto report = filter("log.jsonl");
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_THAT(groups_in("out.jsonl"), ElementsAre("right", "right alone"));
  EXPECT_EQ(Json(report->causes).dump(),
            R"({"wrong_at_other_sizes/borderline":1,"wrong_at_other_sizes/wrong_value":1})");
  EXPECT_EQ(judge.judged["right"], 3);
}

TEST_F(SessionTest, EmptyAndBrokenDataSetsAreNamed) {
  std::ofstream(path("in.jsonl")) << "\n";
  auto report = filter("log.jsonl");
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("in.jsonl: no samples"));
  write("in.jsonl", {sample_with("right")});
  std::ofstream(path("in.jsonl"), std::ios::app) << "{\"kind\": 1}\n";
  report = filter("log.jsonl");
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("in.jsonl:2: "));
  EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
}

TEST(Strata, CellsAreOfTorchsOperatorsAndTheGenerators) {
  Sample sample = sample_with("right");
  sample.labels.operators = {"convolution.default", "relu.default"};
  sample.labels.strategy = "blocked";
  sample.labels.other["made_of"] = Json::array({"conv2d", "relu"});
  EXPECT_THAT(cells_of(sample),
              ElementsAre("conv2d | blocked | cpp", "convolution.default | blocked | cpp",
                          "relu | blocked | cpp", "relu.default | blocked | cpp"));
}

TEST(Binomial, ClopperPearsonVectors) {
  // Closed forms: k = 0: 1 - 0.05^(1/n); k = n - 1: 0.95^(1/n). The rest by R's binom.test.
  EXPECT_NEAR(clopper_pearson_upper(0, 30), 1 - std::pow(0.05, 1.0 / 30), 1e-9);
  EXPECT_NEAR(clopper_pearson_upper(0, 600), 0.0049804, 1e-6);
  EXPECT_NEAR(clopper_pearson_upper(9, 10), std::pow(0.95, 0.1), 1e-9);
  EXPECT_EQ(clopper_pearson_upper(5, 5), 1);
  EXPECT_EQ(clopper_pearson_upper(0, 0), 1);
  EXPECT_GT(clopper_pearson_upper(3, 100000), 3e-5);
  EXPECT_LT(clopper_pearson_upper(3, 100000), 8e-5);
}

}  // namespace
}  // namespace kw::data
