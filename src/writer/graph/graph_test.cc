#include "writer/graph/graph.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace kw::writer {
namespace {

using tensor::DType;

IntExpr size(const char* name) {
  return IntExpr::symbol(name);
}

// Every kind of attribute once.
Graph example() {
  Graph graph;
  graph.sizes = {{"M", 4}, {"N", 6}, {"k", 2}};
  graph.conditions = {{IntExpr::call(IntFunction::kMod, size("M"), 2), Relation::kEqual, 0},
                      {size("k"), Relation::kLess, size("N")}};
  graph.inputs = {{"x", InputRole::kInput, {DType::kFloat32, {size("M"), size("N")}}},
                  {"alpha", InputRole::kScalar, {DType::kFloat64, {}}},
                  {"fc_weight", InputRole::kStatic, {DType::kBFloat16, {size("N")}}}};
  const ValueId x = ValueId::input(0), alpha = ValueId::input(1), weight = ValueId::input(2);
  graph.nodes = {
      {"mul.Tensor", {{"self", x}, {"other", alpha}}, {graph.type(x)}, 7},
      {"max.dim",
       {{"self", ValueId{0, 0}}, {"dim", IntExpr(-1)}, {"keepdim", false}},
       {{DType::kFloat32, {size("M")}}, {DType::kInt64, {size("M")}}}},
      {"odd.kinds",
       {{"none", std::monostate()},
        {"end", size("N") - IntExpr(1)},
        {"scale", 0.1},
        {"whole", 2.0},
        {"low", -std::numeric_limits<double>::infinity()},
        {"mode", std::string("mean")},
        {"dtype", DType::kFloat16},
        {"shape", std::vector<IntExpr>{size("M") * size("N"), -1}},
        {"scales", std::vector<double>{0.5, std::numeric_limits<double>::infinity()}},
        {"mask", std::vector<bool>{true, false}},
        {"empty", std::vector<IntExpr>{}},
        {"tensors", std::vector<std::optional<ValueId>>{weight, std::nullopt, ValueId{1, 1}}}},
       {{DType::kBool, {}}}},
  };
  graph.outputs = {{1, 0}, {2, 0}};
  return graph;
}

TEST(Graph, TextIsForPeople) {
  EXPECT_EQ(to_text(example()),
            "sizes M=4 N=6 k=2\n"
            "where ((M) % (2)) == 0\n"
            "where k < N\n"
            "input x: float32[M, N]\n"
            "scalar alpha: float64[]\n"
            "static fc_weight: bfloat16[N]\n"
            "%0 = mul.Tensor(self=x, other=alpha) -> float32[M, N]  # line 7\n"
            "%1 = max.dim(self=%0, dim=-1, keepdim=False) -> float32[M], int64[M]\n"
            "%2 = odd.kinds(none=None, end=N - 1, scale=0.1, whole=2.0, low=-inf, mode=\"mean\", "
            "dtype=float16, shape=[M * N, -1], scales=[0.5, inf], mask=[True, False], empty=[], "
            "tensors=[fc_weight, None, %1.1]) -> bool[]\n"
            "return %1.0, %2\n");
}

TEST(Graph, JsonIsReadBackEqual) {
  const Graph graph = example();
  ASSERT_TRUE(check(graph));
  const std::string text = to_json_text(graph);
  Result<Graph> read = graph_from_json(text, "graph");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->sizes, graph.sizes);
  EXPECT_EQ(read->conditions, graph.conditions);
  ASSERT_EQ(read->nodes.size(), graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(read->nodes[i].arguments, graph.nodes[i].arguments) << i;
    EXPECT_EQ(read->nodes[i].outputs, graph.nodes[i].outputs) << i;
    EXPECT_EQ(read->nodes[i].line, graph.nodes[i].line) << i;
  }
  EXPECT_EQ(read->outputs, graph.outputs);
  EXPECT_EQ(to_json_text(*read), text);
  EXPECT_EQ(to_text(*read), to_text(graph));
}

TEST(Graph, ConditionsAreEvaluated) {
  const Graph graph = example();
  EXPECT_EQ(broken_condition(graph, {{"M", 2}, {"N", 9}, {"k", 8}}).value(), "");
  EXPECT_EQ(broken_condition(graph, {{"M", 2}, {"N", 9}, {"k", 9}}).value(), "k < N");
  EXPECT_EQ(broken_condition(graph, {{"M", 3}, {"N", 9}, {"k", 9}}).value(), "((M) % (2)) == 0");
  EXPECT_FALSE(broken_condition(graph, {{"M", 2}}));
}

void expect_refused(const Graph& graph, const std::string& message) {
  Status status = check(graph);
  ASSERT_FALSE(status) << message;
  EXPECT_EQ(status.error().message(), message);
}

TEST(Graph, CheckNamesWhatIsWrong) {
  Graph graph = example();
  graph.nodes[0].arguments[0].second = ValueId{0, 0};
  expect_refused(graph, "node 0 (mul.Tensor): self: uses node 0, which is not made before");
  graph = example();
  graph.nodes[1].outputs.pop_back();
  expect_refused(graph, "node 2 (odd.kinds): tensors: node 1 has no output 1");
  graph = example();
  graph.nodes[1].outputs[0].shape[0] = size("Q");
  expect_refused(graph, "node 1 (max.dim): Q is not one of the sizes");
  graph = example();
  graph.outputs[0] = ValueId::input(3);
  expect_refused(graph, "outputs: there is no input 3");
  graph = example();
  std::swap(graph.inputs[1], graph.inputs[2]);
  expect_refused(graph, "input alpha: behind a static");
  graph = example();
  graph.inputs[2].name = "x";
  expect_refused(graph, "input x: there twice");
  graph = example();
  graph.inputs[1].type.dtype = DType::kFloat32;
  expect_refused(graph, "input alpha: a scalar is an int64, float64 or bool without shape");
  graph = example();
  graph.conditions[0].left = size("Q");
  expect_refused(graph, "conditions: Q is not one of the sizes");
  graph = example();
  graph.sizes["a b"] = 1;
  expect_refused(graph, "sizes: \"a b\" is no identifier");
}

TEST(Graph, HostileTextIsRefused) {
  const std::string good = to_json_text(example());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return text.replace(place, from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{", "g: not valid JSON: "},
      {"[]", "g: expected an object"},
      {changed("\"schema\":1", "\"schema\":2"), "g.schema: schema 2 is not 1"},
      {changed("\"M\":4", "\"M\":1e3"), "g.sizes.M: expected a 64-bit integer"},
      {changed("\"M\":4", "\"M\":18446744073709551615"), "g.sizes.M: expected a 64-bit integer"},
      {changed("\"role\":\"static\"", "\"role\":\"other\""), "g.inputs[2].role: unknown \"other\""},
      {changed("\"bfloat16\"", "\"complex64\""), "g.inputs[2].dtype: expected one of "},
      {changed("{\"input\":\"alpha\"}", "{\"input\":\"beta\"}"),
       "g.nodes[0].arguments.other: there is no input beta"},
      {changed("{\"node\":0}", "{\"node\":1}"), "g: node 1 (max.dim): self: uses node 1"},
      {changed("{\"node\":0}", "{\"node\":-1}"), "there is no output 0 of a node -1"},
      {changed("{\"node\":0}", "{\"node\":4294967296}"), "there is no output 0 of a node 4294"},
      {changed("{\"size\":\"N - 1\"}", "{\"size\":\"N - \"}"),
       "g.nodes[2].arguments.end.size: column 5"},
      {changed("{\"size\":\"N - 1\"}", "{\"color\":\"N\"}"), "unknown kind of attribute"},
      {changed("{\"size\":\"N - 1\"}", "[1]"), "g.nodes[2].arguments.end: not an attribute"},
      {changed("\"line\":7", "\"line\":-7"), "g.nodes[0].line: not a line"},
      {changed("\"op\":\"max.dim\"", "\"op\":7"), "g.nodes[1].op: expected a text"},
      {changed("\"op\":\"max.dim\"", "\"op\":\"" + std::string(300, 'a') + "\""),
       "g.nodes[1].op: expected a text"},
      {std::string((16U << 20U) + 1, ' '), "g: over 16 MiB"},
  };
  for (const auto& [text, message] : cases) {
    Result<Graph> read = graph_from_json(text, "g");
    ASSERT_FALSE(read) << message;
    EXPECT_NE(read.error().message().find(message), std::string::npos)
        << read.error().message() << " is not " << message;
  }
}

}  // namespace
}  // namespace kw::writer
