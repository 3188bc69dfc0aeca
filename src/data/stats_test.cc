// Lengths in bins, and what labels say.
#include "data/stats.h"

#include <fstream>

#include <gtest/gtest.h>

#include "data/removal_stats.h"
#include "os/file.h"

namespace kw::data {
namespace {

Sample of_lengths(std::size_t question, std::size_t answer) {
  Sample out;
  out.messages = {{"user", std::string(question, 'q')}, {"assistant", std::string(answer, 'a')}};
  return out;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs(const LengthSummary& lengths) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (const LengthBin& bin : lengths.bins) out.emplace_back(bin.from, bin.count);
  return out;
}

TEST(Stats, LengthsInPowersOfTwo) {
  StatsCollector collector;
  for (std::size_t answer : {0U, 1U, 2U, 3U, 4U, 7U, 8U, 64U})
    collector.add(of_lengths(100, answer));
  const Stats stats = collector.finish();
  using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(pairs(stats.answer_bytes),
            (Pairs{{0, 1}, {1, 1}, {2, 2}, {4, 2}, {8, 1}, {16, 0}, {32, 0}, {64, 1}}));
  EXPECT_EQ(pairs(stats.question_bytes), (Pairs{{64, 8}})) << "from the shortest on";
  EXPECT_EQ(stats.question_bytes.bins[0].to(), 128U);
  EXPECT_EQ(to_json(stats)["question_bytes"]["bins"].dump(), R"([{"from":64,"count":8}])");
  EXPECT_TRUE(StatsCollector().finish().answer_bytes.bins.empty());
}

TEST(Stats, FamiliesTemplatesMutations) {
  StatsCollector collector;
  Sample sample = of_lengths(1, 1);
  sample.labels.other = {{"family", "matmul"}, {"template", "implement-1"}, {"mutation", 3}};
  collector.add(sample);
  sample.labels.other = {{"family", "matmul"}, {"mutation", "no_bias"}};
  collector.add(sample);
  const Stats stats = collector.finish();
  EXPECT_EQ(stats.families.at("matmul"), 2U);
  EXPECT_EQ(stats.templates.at("implement-1"), 1U);
  EXPECT_EQ(stats.mutations.size(), 1U) << "a number is no name";
  const std::string text = to_text(stats);
  EXPECT_NE(text.find("family\n  matmul"), std::string::npos) << text;
  EXPECT_NE(text.find("mutation\n  no_bias"), std::string::npos) << text;
}

TEST(RemovalStats, ByReasonSimilarityRuleAndProblem) {
  const os::TempDir folder = std::move(*os::TempDir::make("kw_removals"));
  const auto write = [&](const std::string& text) {
    std::ofstream(folder.path() / "lines", std::ios::trunc) << text;
    return folder.path() / "lines";
  };
  const auto dedup = read_dedup_removals(write(R"({"id":"a","reason":"same","as":"b","similarity":1}
{"id":"c","reason":"near","as":"b","similarity":0.87}
{"id":"d","reason":"near","as":"b","similarity":0.85}
{"id":"e","reason":"near","as":"b","similarity":1}
)"));
  ASSERT_TRUE(dedup) << dedup.error().message();
  EXPECT_EQ(to_json(*dedup).dump(),
            R"({"rows":4,"reasons":{"near":3,"same":1},"similarities":{"0.85 to 0.90":2,"1":1}})");
  EXPECT_NE(to_text(*dedup).find("taken out by dedup 4\nreason\n  near"), std::string::npos);
  const auto benchmark =
      read_benchmark_removals(write(R"({"id":"a","problem":"p1","rule":"source","overlap":1}
{"id":"b","problem":"p1","rule":"shingles","overlap":0.5}
)"));
  ASSERT_TRUE(benchmark) << benchmark.error().message();
  EXPECT_EQ(
      to_json(*benchmark).dump(),
      R"({"rows":2,"rules":{"shingles":1,"source":1},"problems":{"p1":2},"overlaps":{"0.50 to 0.55":1}})");
  const auto other = read_dedup_removals(write("\n{\"rule\": \"source\"}\n"));
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("lines:2: reason: missing"), std::string::npos)
      << other.error().message();
  EXPECT_EQ(read_benchmark_removals(write(""))->rows, 0U);
}

}  // namespace
}  // namespace kw::data
