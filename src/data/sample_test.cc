// Samples, their files and their labels.
#include "data/sample.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/files.h"
#include "data/graph_labels.h"
#include "os/file.h"
#include "task/definition_json.h"
#include "task/kernelbench.h"
#include "task/policy_json.h"
#include "task/workload_json.h"

namespace kw::data {
namespace {

using testing::HasSubstr;

constexpr const char* kModule =
    "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n\n"
    "def get_inputs():\n    return [torch.rand(4)]\n\ndef get_init_inputs():\n    return []\n";

task::Problem module_problem() {
  return task::module_problem("identity", *task::make_module(kModule, "Model", {}), "test");
}

Sample full_sample() {
  Sample out;
  out.kind = Kind::kRepair;
  out.messages = {{"user", "Write it.\n\"quoted\" \u00e9"}, {"assistant", "```cpp\nint x;\n```"}};
  out.problem = sample_problem(module_problem()).value();
  out.language = "cpp";
  out.origin = {{"generator", "writer"}, {"seed", 7}, {"index", 3}};
  out.labels.operators = {"mul.Tensor", "sum.default"};
  out.labels.edges = std::vector<std::pair<int, int>>{{0, 1}};
  out.labels.graph = "abc";
  out.labels.strategy = "blocked";
  out.labels.tuning = "8x4";
  out.labels.tier = 2;
  out.labels.depth = 5;
  out.labels.other = {{"style", "functional"}};
  out.group = "g1";
  out.pending = Pending{"```cpp\nint y;\n```", "zero_shot"};
  out.verdict = {{"outcome", "passed"}};
  return out;
}

Json row_of(const Sample& sample) {
  return *parse_json(to_line(sample));
}

TEST(Sample, IsReadAsItWasWritten) {
  const Sample sample = full_sample();
  auto read = sample_from_json(row_of(sample));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_line(*read), to_line(sample));
  EXPECT_EQ(read->id, sample_id(sample));
  EXPECT_EQ(read->labels.other.dump(), R"({"style":"functional"})");
  EXPECT_EQ(read->answer(), sample.messages[1].content);
}

TEST(Sample, IdIsOfTheContentAlone) {
  const std::string id = sample_id(full_sample());
  Sample other = full_sample();
  other.origin = {{"dataset", "x"}};
  other.labels = {};
  other.group = "g2";
  other.verdict = nullptr;
  EXPECT_EQ(sample_id(other), id);
  other.messages[1].content += " ";
  EXPECT_NE(sample_id(other), id);
  Sample moved = full_sample();  // the same bytes, cut elsewhere
  moved.messages[0].content += moved.messages[0].role;
  EXPECT_NE(sample_id(moved), id);
}

TEST(Sample, ErrorsNameTheKey) {
  const auto error_with = [](const std::string& pointer, const Json& value) {
    Json row = row_of(full_sample());
    row[Json::json_pointer(pointer)] = value;
    row.erase("id");
    auto read = sample_from_json(row);
    return read ? "" : read.error().message();
  };
  EXPECT_THAT(error_with("/kind", "kernel"), HasSubstr("kind: unknown \"kernel\""));
  EXPECT_THAT(error_with("/messages", Json::array()), HasSubstr("messages"));
  EXPECT_THAT(error_with("/messages/0/role", "tool"), HasSubstr("messages[0].role"));
  EXPECT_THAT(error_with("/messages/0/name", "x"), HasSubstr("messages[0]"));
  EXPECT_THAT(error_with("/problem/form", "graph"), HasSubstr("problem.form"));
  EXPECT_THAT(error_with("/problem", nullptr), HasSubstr("pending"));
  EXPECT_THAT(error_with("/language", "fortran"), HasSubstr("fortran"));
  EXPECT_THAT(error_with("/labels/edges", Json::array({Json::array({1, 2})})), HasSubstr("edges"));
  EXPECT_THAT(error_with("/labels/tier", -1), HasSubstr("labels.tier"));
  EXPECT_THAT(error_with("/group", nullptr), HasSubstr("group"));
  EXPECT_THAT(error_with("/sources", 1), HasSubstr("sources"));
  EXPECT_THAT(error_with("/schema", 2), HasSubstr("schema 2"));
  Json row = row_of(full_sample());
  row["messages"][1]["content"] = "another";
  auto read = sample_from_json(row);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kDataLoss);
}

TEST(Sample, ProblemsComeBackWithTheirHash) {
  const task::Problem module = module_problem();
  auto again = task::problem_of(sample_problem(module).value(), "test");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->module().source, kModule);

  task::Problem problem;
  problem.name = "double";
  problem.body = *task::definition_from_json(
      *parse_json(R"({"name": "double", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
        "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
        "reference": "def run(x):\n    return 2 * x\n"})"),
      "");
  problem.workloads = {*task::workload_from_json(
      *parse_json(R"({"uuid": "w", "axes": {"N": 8}, "inputs": {"x": {"type": "random"}}})"), "")};
  problem.policy.any_shape = true;
  problem.hash = task::problem_hash(problem);
  SampleProblem stored = sample_problem(problem).value();
  again = task::problem_of(stored, "test");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->hash, problem.hash);
  EXPECT_TRUE(again->policy.any_shape);
  stored.source.replace(stored.source.find("2 * x"), 1, "3");
  again = task::problem_of(stored, "test");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kDataLoss);
}

class SampleFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  os::TempDir folder = std::move(*os::TempDir::make("kw_data_test"));
};

TEST_F(SampleFiles, RowsAreReadInOrderAndErrorsNameTheLine) {
  Sample other = full_sample();
  other.group = std::string(3U << 18U, 'g');                           // longer than a block
  write("a.jsonl", to_line(full_sample()) + "\n\n" + to_line(other));  // no end at the last line
  std::vector<std::string> groups;
  auto status = for_each_sample(path("a.jsonl"), [&](const Sample& sample, std::string_view line) {
    EXPECT_EQ(line, to_line(sample));
    groups.push_back(sample.group);
    return Status();
  });
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(groups, (std::vector<std::string>{"g1", other.group}));

  const auto error_of = [&](const std::string& name) {
    auto result =
        for_each_sample(path(name), [](const Sample&, std::string_view) { return Status(); });
    return result ? "" : result.error().message();
  };
  write("b.jsonl", to_line(full_sample()) + "\n\n{\"kind\": 1}\n");
  EXPECT_THAT(error_of("b.jsonl"), HasSubstr("b.jsonl:3: "));
  write("c.jsonl", to_line(full_sample()) + "\n{\"cut\n");
  EXPECT_THAT(error_of("c.jsonl"), HasSubstr("c.jsonl:2: "));
  write("d.jsonl", "\n\n");
  EXPECT_THAT(error_of("d.jsonl"), HasSubstr("d.jsonl: no samples"));
  EXPECT_THAT(error_of("none.jsonl"), HasSubstr("no such file"));
  EXPECT_THAT(error_of("."), HasSubstr("not a regular file"));
}

TEST_F(SampleFiles, AnOutputIsThereWholeOrNotAtAll) {
  write("out.jsonl", "old\n");
  EXPECT_FALSE(OutputFile::create(path("out.jsonl"), false));
  {
    auto file = OutputFile::create(path("out.jsonl"), true);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append_line("new"));
    EXPECT_FALSE(OutputFile::create(path("out.jsonl"), true));  // another run
  }
  EXPECT_EQ(*os::read_file(path("out.jsonl")), "old\n");
  EXPECT_FALSE(std::filesystem::exists(path("out.jsonl.partial")));
  auto file = OutputFile::create(path("out.jsonl"), true);
  ASSERT_TRUE(file->append_line("new") && file->close());
  EXPECT_EQ(*os::read_file(path("out.jsonl")), "new\n");
  auto full = OutputFile::create("/dev/full/x", true);
  ASSERT_FALSE(full);
}

writer::Graph graph_of(const std::string& nodes, const std::string& outputs) {
  return *writer::graph_from_json(
      R"({"schema": 1, "sizes": {"N": 8}, "conditions": [], "inputs": [
        {"name": "a", "role": "input", "dtype": "float32", "shape": ["N"]},
        {"name": "b", "role": "input", "dtype": "float32", "shape": [8]}], "nodes": [)" +
          nodes + R"(], "outputs": [)" + outputs + "]}",
      "test");
}

std::string sub(const std::string& left, const std::string& right) {
  return R"({"op": "sub.Tensor", "arguments": {"self": )" + left + R"(, "other": )" + right +
         R"(, "alpha": 1}, "outputs": [{"dtype": "float32", "shape": ["N"]}]})";
}

TEST(GraphLabels, DigestIsOfWhatIsComputed) {
  const std::string a = R"({"input": "a"})", b = R"({"input": "b"})", n0 = R"({"node": 0})",
                    n1 = R"({"node": 1})", n2 = R"({"node": 2})";
  // (a - b) - a, with and without a node that nobody uses, and in another order.
  const auto graph = graph_of(sub(a, b) + "," + sub(n0, a), n1);
  EXPECT_EQ(graph_digest(graph),
            graph_digest(graph_of(sub(b, b) + "," + sub(a, b) + "," + sub(n1, a), n2)));
  // Inputs of one type are numbered by use, so that their names do not matter.
  EXPECT_EQ(graph_digest(graph), graph_digest(graph_of(sub(b, a) + "," + sub(n0, b), n1)));
  EXPECT_NE(graph_digest(graph), graph_digest(graph_of(sub(a, b) + "," + sub(a, n0), n1)));
  EXPECT_NE(graph_digest(graph), graph_digest(graph_of(sub(a, b) + "," + sub(n0, b), n1)));
  Labels labels;
  set_graph_labels(graph, labels);
  EXPECT_EQ(labels.operators, (std::vector<std::string>{"sub.Tensor", "sub.Tensor"}));
  EXPECT_FALSE(labels.edges) << "a chain";
  EXPECT_EQ(labels.depth, 2);
  EXPECT_EQ(labels.graph, graph_digest(graph));
  // Two branches that meet, and a node that nobody uses: the longest path has three of four.
  set_graph_labels(graph_of(sub(a, b) + "," + sub(b, a) + "," + sub(b, b) + "," + sub(n0, n1) +
                                "," + sub(R"({"node": 3})", a),
                            R"({"node": 4})"),
                   labels);
  EXPECT_EQ(labels.operators.size(), 4U);
  EXPECT_EQ(*labels.edges, (std::vector<std::pair<int, int>>{{0, 2}, {1, 2}, {2, 3}}));
  EXPECT_EQ(labels.depth, 3);
}

}  // namespace
}  // namespace kw::data
