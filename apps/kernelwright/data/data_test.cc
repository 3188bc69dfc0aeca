// kernelwright data import, split, export, dedup, decontaminate, filter with a gym that is none:
// options, what is printed, and that nothing is left of a command that fails.
#include <gmock/gmock.h>

#include "base/text.h"
#include "data/sample.h"
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kModule =
    "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return 2 "
    "* "
    "x\n\n\ndef get_inputs():\n    return [torch.rand(8)]\n\n\ndef get_init_inputs():\n    return "
    "[]\n";

class DataCommandsTest : public FrontTest {
 protected:
  int data(std::vector<std::string> words) {
    console.out_text.clear();
    console.err_text.clear();
    words.insert(words.begin(), "data");
    return kernelwright(words);
  }
  Json json_of(std::vector<std::string> words) {
    words.emplace_back("--json");
    EXPECT_EQ(data(words), 0) << console.err_text;
    auto out = parse_json(console.out_text);
    return out ? *out : Json();
  }
  std::vector<Json> rows(const std::string& name) const {
    std::vector<Json> out;
    for (const std::string& line : split(read(name), '\n'))
      if (!line.empty()) out.push_back(*parse_json(line));
    return out;
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

  // A sample of problems/double with this answer.
  data::Sample sample(const std::string& mark) const {
    data::Sample out;
    out.messages = {{"user", "Double it."}, {"assistant", mark}};
    out.labels.operators = {"mul.Tensor"};
    out.labels.depth = 1;
    out.group = mark;
    return out;
  }
  std::string write_samples(const std::string& name,
                            const std::vector<data::Sample>& samples) const {
    std::string text;
    for (const data::Sample& one : samples) text += to_line(one) + "\n";
    return write(name, text);
  }
};

TEST_F(DataCommandsTest, ImportTracesProblemsForTheirOperators) {
  writer::Graph graph;
  graph.sizes = {{"N", 8}};
  const writer::TensorType type = {tensor::DType::kFloat32, {writer::IntExpr::symbol("N")}};
  graph.inputs = {{"x", writer::InputRole::kInput, type}};
  graph.nodes = {{"neg.default", {{"self", writer::ValueId::input(0)}}, {type}}};
  graph.nodes.push_back({"abs.default", {{"self", writer::ValueId{0, 0}}}, {type}});
  graph.outputs = {writer::ValueId{1, 0}};
  gym.graph = graph;
  gym.errors["halve"] = ErrorCode::kUnsupported;
  const Json out = json_of(
      {"import", "problems", "--language", "cpp", "--trace", "--jobs", "2", "--out", "out.jsonl"});
  EXPECT_EQ(out["samples"], 2);
  EXPECT_EQ(out["traced"], 1);
  EXPECT_EQ(out["untraced"].dump(), R"({"the fake fails":1})");
  int labelled = 0;
  for (const Json& row : rows("out.jsonl")) {
    const Json& labels = row["labels"];
    if (row["problem"]["name"] == "halve") {
      EXPECT_FALSE(labels.contains("operators") || labels.contains("graph"));
      continue;
    }
    ++labelled;
    EXPECT_EQ(labels["operators"].dump(), R"(["neg.default","abs.default"])");
    EXPECT_EQ(labels["depth"], 2);
    EXPECT_FALSE(labels["graph"].get<std::string>().empty());
  }
  EXPECT_EQ(labelled, 1);
  ASSERT_EQ(data({"import", "problems", "--language", "cpp", "--trace", "--out", "text.jsonl"}), 0);
  EXPECT_THAT(console.out_text,
              HasSubstr("traced    1\n         1  have no operators: the fake fails"));
}

TEST_F(DataCommandsTest, ImportAsksForModulesInCpp) {
  write("bench/1_Double.py", kModule);
  ASSERT_EQ(data({"import", "bench", "--language", "cpp", "--out", "out.jsonl"}), 0)
      << console.err_text;
  const std::vector<Json> got = rows("out.jsonl");
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0]["kind"], "convert");
  EXPECT_THAT(got[0]["messages"][0]["content"].get<std::string>(), HasSubstr("void run("));
  ASSERT_EQ(data({"import", "bench", "--out", "triton.jsonl"}), 0) << console.err_text;
  EXPECT_EQ(gym.started.size(), 1U) << "no gym for other languages";
}

TEST_F(DataCommandsTest, SplitHoldsOutDeepGraphsAndIsWholeOrNothing) {
  std::vector<data::Sample> samples;
  for (int i = 0; i < 40; ++i) {
    samples.push_back(sample(fmt::format("a{}", i)));
    samples.back().labels.depth = i % 4 == 0 ? 11 : 10;
  }
  const std::string in = write_samples("in.jsonl", samples);
  const Json out = json_of({"split", in, "--out", "parts", "--validation", "0", "--test", "0"});
  EXPECT_EQ(out["options"]["deeper_than"], 10);
  EXPECT_EQ(out["parts"]["h2"]["samples"], 10);
  EXPECT_EQ(rows("parts/h2.jsonl").size(), 10U);
  EXPECT_EQ(out["parts"]["train"]["samples"], 30);
  EXPECT_TRUE(exists("parts/split.json"));
  EXPECT_FALSE(exists("parts.partial"));
  EXPECT_EQ(data({"split", in, "--out", "parts"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("parts: is there already"));
  write("broken.jsonl", read("in.jsonl") + "{\"kind\": 1}\n");
  EXPECT_EQ(data({"split", path("broken.jsonl"), "--out", "other"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("broken.jsonl:41: "));
  EXPECT_FALSE(exists("other") || exists("other.partial"));
  EXPECT_EQ(data({"split", in, "--out", "other", "--unlabelled", "x"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("expected aside, train or fail"));
}

TEST_F(DataCommandsTest, ExportRefusesWhatWaitsAndLeavesOutWhatHasNoAnswer) {
  data::Sample asked = sample("x");
  asked.messages.pop_back();
  const std::string in = write_samples("in.jsonl", {sample("a"), asked, sample("b")});
  const Json out = json_of({"export", in, "--out", "release"});
  EXPECT_EQ(out["samples"], 2);
  EXPECT_EQ(out["unanswered"], 1);
  const std::vector<Json> got = rows("release/data/train.jsonl");
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(parse_json(got[0]["labels"].get<std::string>())->at("operators")[0], "mul.Tensor");
  EXPECT_THAT(read("release/README.md"), HasSubstr("| train | 2 |"));
  EXPECT_EQ(json_of({"export", in, "--out", "all", "--unanswered"})["samples"], 3);

  data::Sample pending = sample("slow");
  pending.kind = data::Kind::kSpeedup;
  pending.language = "cpp";
  pending.problem = data::SampleProblem{{"p", "h", true, "x"}, {}};
  pending.pending = data::Pending{"before", "zero_shot"};
  EXPECT_EQ(data({"export", write_samples("p.jsonl", {sample("a"), pending}), "--out", "none"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("filter before exporting"));
  EXPECT_FALSE(exists("none") || exists("none.partial"));
  EXPECT_EQ(data({"export", write_samples("q.jsonl", {asked}), "--out", "none"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("without an answer"));
  EXPECT_FALSE(exists("none") || exists("none.partial"));
}

// The files as kill -9 leaves them between the second one's renaming and the first one's.
TEST_F(DataCommandsTest, DedupAndDecontaminateGoOnBetweenTheirTwoNames) {
  const std::string in = write_samples("in.jsonl", {sample("a"), sample("b"), sample("a")});
  const std::vector<std::vector<std::string>> commands = {
      {"dedup", in, "--out", "out.jsonl", "--removed", "beside.jsonl"},
      {"decontaminate", in, "--against", "double", "--out", "out.jsonl", "--report",
       "beside.jsonl"}};
  for (const auto& command : commands) {
    ASSERT_EQ(data(command), 0) << console.err_text;
    const std::string out = read("out.jsonl"), beside = read("beside.jsonl");
    std::filesystem::rename(path("out.jsonl"), path("out.jsonl.partial"));
    ASSERT_EQ(data(command), 0) << console.err_text;
    EXPECT_EQ(read("out.jsonl"), out);
    EXPECT_EQ(read("beside.jsonl"), beside);
    EXPECT_EQ(data(command), 2) << "both are there";
    std::filesystem::remove(path("out.jsonl"));
    EXPECT_EQ(data(command), 2) << "the second one may be somebody's";
    EXPECT_THAT(console.err_text, HasSubstr("beside.jsonl: is there already"));
    std::filesystem::remove(path("beside.jsonl"));
  }
}

TEST_F(DataCommandsTest, EmptyAndBrokenDataSetsAreNamed) {
  write("empty.jsonl", "\n");
  write("broken.jsonl", to_line(sample("a")) + "\n{\"cut\n");
  const std::vector<std::vector<std::string>> commands = {
      {"dedup", "--out", "out"},
      {"decontaminate", "--against", "double", "--out", "out"},
      {"filter", "--out", "out", "--log", "log", "--resume"},
      {"split", "--out", "out"},
      {"export", "--out", "out"},
      {"stats"}};
  for (const auto& command : commands) {
    for (const auto& [file, what] : {std::pair{"empty.jsonl", "empty.jsonl: no samples"},
                                     std::pair{"broken.jsonl", "broken.jsonl:2: "},
                                     std::pair{"none.jsonl", "none.jsonl: no such file"}}) {
      auto words = command;
      words.insert(words.begin() + 1, path(file));
      EXPECT_EQ(data(words), 2) << command[0] << " " << file;
      EXPECT_THAT(console.err_text, HasSubstr(what)) << command[0];
      EXPECT_FALSE(exists("out") || exists("out.partial")) << command[0];
    }
  }
}

TEST_F(DataCommandsTest, FilterTellsCausesAndSmallCells) {
  ASSERT_EQ(data({"import", "problems/double", "--language", "cpp", "--out", "question.jsonl"}), 0)
      << console.err_text;
  const auto row = data::sample_from_json(rows("question.jsonl")[0]);
  ASSERT_TRUE(row) << row.error().message();
  std::vector<data::Sample> samples;
  for (const char* text : {"```cpp\nextern \"C\" void run() {}\n```", "I cannot."}) {
    data::Sample one = *row;
    one.messages.push_back({"assistant", text});
    one.origin = {{"generator", "other"}};
    one.labels.operators = {"mul.Tensor"};
    samples.push_back(std::move(one));
  }
  const std::string in = write_samples("in.jsonl", samples);
  gym.on_verdict = [](task::Verdict& verdict) { verdict.outcome = task::Outcome::kQuarantined; };
  ASSERT_EQ(data({"filter", in, "--out", "out.jsonl", "--per-cell", "3"}), 0) << console.err_text;
  EXPECT_THAT(console.out_text, HasSubstr("  no_code                         1\n    no_block "));
  EXPECT_THAT(console.out_text, HasSubstr("no fault    1 of these say nothing of the answer"));
  EXPECT_THAT(console.out_text, HasSubstr("  small     1 cells with fewer than 3"));
  EXPECT_THAT(console.out_text, HasSubstr("         1  mul.Tensor |  | cpp\n"));
  EXPECT_EQ(data({"filter", in, "--out", "b.jsonl", "--log", "out.jsonl.log.jsonl", "--resume",
                  "--per-cell", "3", "--small-cells", "fail"}),
            2);
  EXPECT_THAT(console.err_text, HasSubstr("mul.Tensor |  | cpp (1)"));
  EXPECT_EQ(data({"filter", in, "--out", "b.jsonl", "--small-cells", "x"}), 2);
  EXPECT_THAT(console.err_text, HasSubstr("expected keep, drop or fail"));
}

}  // namespace
}  // namespace kw::front
