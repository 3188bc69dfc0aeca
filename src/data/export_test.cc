// Rows and the data card for others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/data_card.h"
#include "data/export_row.h"

namespace kw::data {
namespace {

using testing::HasSubstr;
using testing::Not;

Sample full_sample() {
  Sample out;
  out.kind = Kind::kDefinition;
  out.messages = {{"user", "Write it."}, {"assistant", "```cpp\nint x;\n```"}};
  out.problem = SampleProblem{
      {"p", "h", false, "{}", Json::array({{{"uuid", "w"}}}), {{"family", "scan"}}}, {}};
  out.language = "cpp";
  out.origin = {{"generator", "writer"}};
  out.labels.operators = {"a", "b", "c"};
  out.labels.edges = std::vector<std::pair<int, int>>{{0, 2}, {1, 2}};
  out.labels.graph = "digest";
  out.labels.depth = 2;
  out.labels.other = {{"template", "zero_shot-1"}, {"docs", true}, {"family", "scan"}};
  out.group = "g";
  out.verdict = {{"outcome", "passed"}, {"speedup", {{"median", 2.5}}}, {"evidence", "e"}};
  out.id = sample_id(out);
  return out;
}

TEST(Export, ARowHasEveryColumnAndLosesNothing) {
  const Sample sample = full_sample();
  const Json row = export_row(sample), schema = export_schema();
  EXPECT_EQ(row.size(), schema.size());
  for (const auto& [name, type] : schema.items()) EXPECT_TRUE(row.contains(name)) << name;
  EXPECT_EQ(*parse_json(row["labels"].get<std::string>()), to_json(sample.labels));
  EXPECT_EQ(*parse_json(row["problem_workloads"].get<std::string>()), sample.problem->workloads);
  EXPECT_EQ(*parse_json(row["problem_policy"].get<std::string>()), sample.problem->policy);
  EXPECT_EQ(*parse_json(row["verdict"].get<std::string>()), sample.verdict);
  EXPECT_EQ(row["speedup"], 2.5);
  EXPECT_EQ(row["outcome"], "passed");
  Sample module = sample;
  module.problem->is_module = true;
  module.problem->workloads = nullptr;
  module.problem->resized = {"one", "two"};
  EXPECT_EQ(export_row(module)["problem_resized"].dump(), R"(["one","two"])");
  EXPECT_EQ(export_row(module)["problem_workloads"], "");
  Sample chat;
  chat.messages = {{"user", "Hi"}};
  EXPECT_EQ(export_row(chat).size(), schema.size());
  EXPECT_EQ(export_row(chat)["verdict"], "");
}

TEST(Export, TheCardSaysWhatWasVerifiedAndNamesEveryColumn) {
  StatsCollector collector;
  Sample sample = full_sample();
  sample.origin["licences"] = Json::array({"MIT"});
  collector.add(sample);
  sample.verdict = nullptr;
  collector.add(sample);
  const Stats stats = collector.finish();
  const std::string card = data_card("My set", stats, {{"train", "data/train.parquet", 2}});
  EXPECT_TRUE(card.starts_with("---\npretty_name: \"My set\"\nlicense: \"mit\"\n")) << card;
  EXPECT_THAT(card, HasSubstr("size_categories:\n- n<1K\n"));
  EXPECT_THAT(card, HasSubstr("  - split: train\n    path: data/train.parquet\n---\n"));
  EXPECT_THAT(card, HasSubstr("1 answers were compiled, run and compared"));
  EXPECT_THAT(card, HasSubstr("1 samples have no verdict"));
  for (const ExportColumn& column : export_columns())
    EXPECT_THAT(card, HasSubstr(fmt::format("| `{}` | ", column.name)));
  sample.origin["licences"] = Json::array({"BSD"});
  StatsCollector other;
  other.add(sample);
  sample.origin["licences"] = Json::array({"MIT"});
  other.add(sample);
  EXPECT_THAT(data_card("x", other.finish(), {}), HasSubstr("\nlicense: other\n"));
}

}  // namespace
}  // namespace kw::data
