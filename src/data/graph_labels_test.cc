// Digests of graphs: equal for what is the same written otherwise, and for nothing else.
#include "data/graph_labels.h"

#include <map>
#include <random>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace kw::data {
namespace {

const std::string kX = R"({"input": "x"})", kY = R"({"input": "y"})", kW = R"({"input": "w"})";

std::string node(int index) {
  return fmt::format(R"({{"node": {}}})", index);
}

// arguments: without braces. shape: of the result.
std::string call(const std::string& op, const std::string& arguments,
                 const std::string& shape = R"("M", 8)") {
  return fmt::format(
      R"({{"op": "{}", "arguments": {{{}}}, "outputs": [{{"dtype": "float32", "shape": [{}]}}]}})",
      op, arguments, shape);
}

std::string binary(const std::string& op, const std::string& a, const std::string& b) {
  return call(op + ".Tensor", fmt::format(R"("self": {}, "other": {}{})", a, b,
                                          op == "add" || op == "sub" ? R"(, "alpha": 1)" : ""));
}

std::string unary(const std::string& op, const std::string& a) {
  return call(op + ".default", R"("self": )" + a);
}

// The last node is the output.
std::string digest_of(const std::vector<std::string>& nodes) {
  const std::string text = fmt::format(
      R"({{"schema": 1, "sizes": {{"M": 4}}, "conditions": [], "inputs": [
        {{"name": "x", "role": "input", "dtype": "float32", "shape": ["M", 8]}},
        {{"name": "y", "role": "input", "dtype": "float32", "shape": ["M", 8]}},
        {{"name": "w", "role": "static", "dtype": "float32", "shape": [8]}}],
        "nodes": [{}], "outputs": [{}]}})",
      fmt::join(nodes, ","), node(static_cast<int>(nodes.size()) - 1));
  auto graph = writer::graph_from_json(text, "test");
  EXPECT_TRUE(graph) << graph.error().message();
  return graph ? graph_digest(*graph) : "";
}

using Ways = std::vector<std::vector<std::string>>;

// Each group of ways has one digest, and no other's.
void expect_equal_inside_alone(const std::vector<Ways>& groups) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string first = digest_of(groups[i][0]);
    for (const auto& way : groups[i]) EXPECT_EQ(digest_of(way), first) << i << ": " << way.back();
    EXPECT_TRUE(seen.emplace(first, i).second) << i << " is " << seen[first];
  }
}

TEST(GraphDigest, WaysOfWritingTheSame) {
  const std::string sum = call("sum.dim_IntList",
                               R"("self": )" + kX +
                                   R"(, "dim": {"sizes": [1]}, "keepdim": false,
                                                         "dtype": null)",
                               R"("M")");
  const std::vector<Ways> same = {
      {{binary("add", kX, kY)}, {binary("add", kY, kX)}},
      {{binary("mul", kX, kW)}, {binary("mul", kW, kX)}},
      {{binary("mul", kX, "0.25")}, {binary("mul", "0.25", kX)}, {binary("div", kX, "4")}},
      {{unary("neg", kX)}, {binary("mul", kX, "-1")}, {binary("sub", "0", kX)}},
      {{binary("sub", "1.0", kX)}, {unary("neg", kX), binary("add", node(0), "1")}},
      {{binary("sub", kX, kW)},
       {call("neg.default", R"("self": )" + kW, "8"), binary("add", kX, node(0))}},
      {{unary("silu", kX)}, {unary("sigmoid", kX), binary("mul", kX, node(0))}},
      {{unary("relu", kX)},
       {call("clamp.default", R"("self": )" + kX + R"(, "min": 0, "max": null)")}},
      {{call("hardtanh.default", R"("self": )" + kX + R"(, "min_val": 0.0, "max_val": 6.0)")},
       {call("clamp.default", R"("self": )" + kX + R"(, "min": 0, "max": 6)")}},
      {{unary("rsqrt", kX)},
       {unary("sqrt", kX), unary("reciprocal", node(0))},
       {unary("sqrt", kX), binary("div", "1", node(0))}},
      {{call("pow.Tensor_Scalar", R"("self": )" + kX + R"(, "exponent": 2)")},
       {binary("mul", kX, kX)}},
      {{call("mean.dim", R"("self": )" + kX + R"(, "dim": {"sizes": [1]}, "keepdim": true,
                                                 "dtype": null)",
             R"("M", 1)")},
       {sum, call("div.Tensor", R"("self": {"node": 0}, "other": 8)", R"("M")"),
        call("unsqueeze.default", R"("self": {"node": 1}, "dim": 1)", R"("M", 1)")}},
  };
  expect_equal_inside_alone(same);
}

std::string number_of(const std::string& op, const std::string& a, const std::string& rest,
                      const std::string& shape = R"("M", 8)") {
  return call(op, R"("self": )" + a + ", " + rest, shape);
}

std::string truth(const std::string& op, const std::string& arguments) {
  return fmt::format(
      R"({{"op": "{}", "arguments": {{{}}}, "outputs": [{{"dtype": "bool", "shape": ["M", 8]}}]}})",
      op, arguments);
}

std::string over_rows(const std::string& op, const std::string& a) {
  return number_of(op, a, R"("dim": {"sizes": [1]}, "keepdim": true)", R"("M", 1)");
}

TEST(GraphDigest, FormulasOfOperators) {
  const std::string root = "0.7071067811865476";
  const std::vector<Ways> same = {
      {{unary("sigmoid", kX)},
       {unary("neg", kX), unary("exp", node(0)), binary("add", node(1), "1"),
        unary("reciprocal", node(2))},
       {binary("mul", kX, "0.5"), unary("tanh", node(0)), binary("add", node(1), "1"),
        binary("mul", node(2), "0.5")},
       {unary("exp", kX), binary("add", node(0), "1"), binary("div", node(0), node(1))}},
      {{unary("tanh", kX)},
       {binary("mul", kX, "2"), unary("sigmoid", node(0)), binary("mul", node(1), "2"),
        binary("sub", node(2), "1")}},
      {{number_of("gelu.default", kX, R"("approximate": "none")")},
       {binary("mul", kX, root), unary("erf", node(0)), binary("add", node(1), "1"),
        binary("mul", kX, "0.5"), binary("mul", node(3), node(2))}},
      {{number_of("_softmax.default", kX, R"("dim": 1, "half_to_float": false)")},
       {over_rows("amax.default", kX), binary("sub", kX, node(0)), unary("exp", node(1)),
        over_rows("sum.dim_IntList", node(2)), binary("div", node(2), node(3))},
       {unary("exp", kX), over_rows("sum.dim_IntList", node(0)), binary("div", node(0), node(1))}},
      {{number_of("_log_softmax.default", kX, R"("dim": 1, "half_to_float": false)")},
       {number_of("_softmax.default", kX, R"("dim": 1, "half_to_float": false)"),
        unary("log", node(0))}},
      {{unary("hardsigmoid", kX)},
       {binary("div", kX, "6"), binary("add", node(0), "0.5"),
        number_of("clamp.default", node(1), R"("min": 0, "max": 1)")}},
      {{binary("add", kX, kX)}, {binary("mul", kX, "2")}},
      {{unary("abs", kX)},
       {unary("neg", kX),
        call("maximum.default", R"("self": )" + kX + R"(, "other": {"node": 0})")}},
      {{number_of("leaky_relu.default", kX, R"("negative_slope": 0.1)")},
       {binary("mul", kX, "0.1"), truth("gt.Scalar", R"("self": )" + kX + R"(, "other": 0)"),
        call("where.self",
             R"("condition": {"node": 1}, "self": {"input": "x"}, "other": {"node": 0})")}},
      {{number_of("linalg_vector_norm.default", kX,
                  R"("ord": 2, "dim": {"sizes": [1]}, "keepdim": true)", R"("M", 1)")},
       {binary("mul", kX, kX), over_rows("sum.dim_IntList", node(0)),
        call("sqrt.default", R"("self": {"node": 1})", R"("M", 1)")}},
      {{call(
           "native_layer_norm.default",
           R"("input": {"input": "x"}, "normalized_shape": {"sizes": [8]}, "weight": {"input": "w"},
                "bias": null, "eps": 1e-5)")},
       {over_rows("mean.dim", kX), binary("sub", kX, node(0)), binary("mul", node(1), node(1)),
        over_rows("mean.dim", node(2)),
        call("add.Tensor", R"("self": {"node": 3}, "other": 1e-5, "alpha": 1)", R"("M", 1)"),
        call("sqrt.default", R"("self": {"node": 4})", R"("M", 1)"),
        binary("div", node(1), node(5)), binary("mul", kW, node(6))}},
  };
  expect_equal_inside_alone(same);
}

TEST(GraphDigest, PartsOfWholes) {
  const auto left_half = [](const std::string& of) {
    return number_of("slice.Tensor", of, R"("dim": 1, "start": 0, "end": 4, "step": 1)",
                     R"("M", 4)");
  };
  const auto half_sum =
      call("add.Tensor", R"("self": {"node": 0}, "other": {"node": 1}, "alpha": 1)", R"("M", 4)");
  const std::vector<Ways> same = {
      {{binary("add", kX, kY), left_half(node(0))}, {left_half(kX), left_half(kY), half_sum}}};
  expect_equal_inside_alone(same);
}

// The relu of a sum whose first part has the factor -1, and that of its opposite has too: a part
// that is a view takes its factor inside, and the order of the parts goes by what they are. For
// some of these it was made without an end.
TEST(GraphDigest, ReluOfSumsWhoseOrderDependsOnTheirSign) {
  const std::string cube = R"("M", 8, 8)";
  for (int way = 1; way <= 24; ++way) {
    const std::vector<std::string> nodes = {
        binary("mul", kX, std::to_string(way)),
        call("unsqueeze.default", R"("self": {"node": 0}, "dim": 1)", R"("M", 1, 8)"),
        call("mul.Tensor", R"("self": {"node": 1}, "other": {"input": "w"})", R"("M", 1, 8)"),
        call("expand.default", R"("self": {"node": 2}, "size": {"sizes": ["M", 8, 8]})", cube),
        call("tanh.default", R"("self": {"node": 3})", cube),
        call("view.default", R"("self": {"input": "w"}, "size": {"sizes": [8, 1]})", "8, 1"),
        call("mul.Tensor", R"("self": {"node": 4}, "other": {"node": 5})", cube),
        call("tanh.default", R"("self": {"node": 6})", cube),
        call("add.Tensor", R"("self": {"node": 7}, "other": {"node": 5}, "alpha": 1)", cube),
        call("_log_softmax.default", R"("self": {"node": 8}, "dim": 2, "half_to_float": false)",
             cube),
        call("relu.default", R"("self": {"node": 9})", cube)};
    EXPECT_FALSE(digest_of(nodes).empty());
  }
}

// Nothing that a trace may say of an operator's arguments and sizes ends the program.
TEST(GraphDigest, AnyArgumentsOfAnyOperator) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same in every run
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  const std::vector<std::string> ops = {"add.Tensor",
                                        "mul.Tensor",
                                        "div.Tensor",
                                        "sub.Tensor",
                                        "maximum.default",
                                        "lt.Scalar",
                                        "where.self",
                                        "clamp.default",
                                        "view.default",
                                        "permute.default",
                                        "expand.default",
                                        "slice.Tensor",
                                        "select.int",
                                        "cat.default",
                                        "sum.dim_IntList",
                                        "mean.dim",
                                        "amax.default",
                                        "var.correction",
                                        "_softmax.default",
                                        "native_layer_norm.default",
                                        "native_group_norm.default",
                                        "_native_batch_norm_legit.no_stats",
                                        "mm.default",
                                        "bmm.default",
                                        "addmm.default",
                                        "convolution.default",
                                        "constant_pad_nd.default",
                                        "cumsum.default",
                                        "topk.default",
                                        "sort.default",
                                        "argmax.default",
                                        "max.dim",
                                        "linalg_vector_norm.default",
                                        "gelu.default",
                                        "embedding.default",
                                        "index.Tensor",
                                        "relu.default",
                                        "exp.default",
                                        "log.default",
                                        "pow.Tensor_Scalar",
                                        "logical_not.default",
                                        "full.default",
                                        "unsqueeze.default"};
  const std::vector<std::string> names = {"self",
                                          "other",
                                          "dim",
                                          "dims",
                                          "start",
                                          "end",
                                          "step",
                                          "size",
                                          "min",
                                          "max",
                                          "condition",
                                          "tensors",
                                          "normalized_shape",
                                          "weight",
                                          "bias",
                                          "input",
                                          "mat1",
                                          "mat2",
                                          "group",
                                          "eps",
                                          "padding",
                                          "transposed",
                                          "pad",
                                          "value",
                                          "k",
                                          "largest",
                                          "descending",
                                          "exponent",
                                          "ord",
                                          "keepdim",
                                          "index",
                                          "indices",
                                          "fill_value",
                                          "correction",
                                          "negative_slope"};
  const std::vector<std::string> shapes = {"",  R"("M")",      R"("M", 8)",    R"("M", 1)",
                                           "8", "1, 1",        R"("M", 2, 4)", R"(2, "M", 1, 4)",
                                           "0", R"("M", 8, 8)"};
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::string> nodes;
    for (int n = 0; n < 6; ++n) {
      std::vector<std::string> values = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "7",
                                         "0.5",
                                         "null",
                                         "true",
                                         "false",
                                         R"({"sizes": [1]})",
                                         R"({"sizes": []})",
                                         R"({"sizes": [0, 1]})",
                                         R"({"sizes": [1, 0]})",
                                         R"({"sizes": [5, -3]})",
                                         R"({"sizes": [1, 1, 1, 1]})",
                                         kX,
                                         kY,
                                         kW};
      for (int before = 0; before < n; ++before) values.insert(values.end(), 2, node(before));
      std::string arguments;
      for (const std::string& name : names) {
        if (random() % 3 != 0)
          arguments +=
              fmt::format(R"({}"{}": {})", arguments.empty() ? "" : ", ", name, pick(values));
      }
      nodes.push_back(call(pick(ops), arguments, pick(shapes)));
    }
    EXPECT_NE(digest_of(nodes), "");
  }
}

TEST(GraphDigest, OtherComputationsStayApart) {
  std::map<std::string, std::size_t> seen;
  const auto softmax = [](const std::string& dim) {
    return number_of("_softmax.default", kX, R"("half_to_float": false, "dim": )" + dim);
  };
  const std::vector<std::vector<std::string>> all = {
      {softmax("0")},
      {softmax("1")},
      {number_of("_log_softmax.default", kX, R"("dim": 1, "half_to_float": false)")},
      {number_of("gelu.default", kX, R"("approximate": "none")")},
      {number_of("gelu.default", kX, R"("approximate": "tanh")")},
      {unary("silu", kX)},
      {unary("relu", kX), binary("sub", node(0), "1")},
      {binary("sub", kX, "1"), unary("relu", node(0))},
      {unary("neg", kX), unary("relu", node(0))},
      {unary("abs", kX)},
      {number_of("leaky_relu.default", kX, R"("negative_slope": 0.1)")},
      {number_of("leaky_relu.default", kX, R"("negative_slope": 0.2)")},
      {call("maximum.default", R"("self": {"input": "x"}, "other": {"input": "y"})")},
      {call("minimum.default", R"("self": {"input": "x"}, "other": {"input": "y"})")},
      {unary("exp", kX)},
      {unary("expm1", kX)},
      {unary("log", kX)},
      {unary("log1p", kX)},
      {unary("sqrt", kX)},
      {unary("rsqrt", kX)},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto [at, added] = seen.emplace(digest_of(all[i]), i);
    EXPECT_TRUE(added) << i << " is as " << at->second << ": " << all[i].back();
  }
}

TEST(GraphDigest, OtherComputationsDiffer) {
  const std::vector<std::vector<std::string>> all = {
      {binary("add", kX, kY)},
      {binary("add", kX, kX), binary("add", node(0), kY)},
      {binary("sub", kX, kY)},
      {binary("mul", kX, kY)},
      {binary("div", kX, kY)},
      {binary("add", kX, kW)},
      {binary("sub", kW, kX)},
      {binary("div", kW, kX)},
      {binary("add", kX, "1")},
      {binary("sub", kX, "1")},
      {binary("sub", "1", kX)},
      {binary("mul", kX, "2")},
      {binary("div", "2", kX)},
      {unary("relu", kX)},
      {call("clamp.default", R"("self": )" + kX + R"(, "min": 0.1, "max": null)")},
      {call("clamp.default", R"("self": )" + kX + R"(, "min": null, "max": 0)")},
      {unary("sigmoid", kX), binary("mul", kY, node(0))},
      {binary("sub", kX, kY), binary("sub", node(0), kX)},
      {binary("sub", kX, kY), binary("sub", node(0), kY)},
      {call("var.correction", R"("self": )" + kX + R"(, "dim": {"sizes": [1]}, "correction": 1,
                                                       "keepdim": false)",
            R"("M")")},
      {call("var.correction", R"("self": )" + kX + R"(, "dim": {"sizes": [1]}, "correction": 0,
                                                       "keepdim": false)",
            R"("M")")},
  };
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto [at, added] = seen.emplace(digest_of(all[i]), i);
    EXPECT_TRUE(added) << i << " is as " << at->second << ": " << all[i].back();
  }
}

// The tracer's graphs come from other people's code.
TEST(GraphDigest, ArgumentsThatNoOperatorHas) {
  for (const char* op : {"neg.default", "add.Tensor", "mm.default", "addmm.default", "view.default",
                         "convolution.default", "clamp.default", "mean.dim", "permute.default"}) {
    EXPECT_NE(digest_of({call(op, "")}), "") << op;
    EXPECT_NE(digest_of({call(op, R"("self": 3, "other": 4)")}), "") << op;
    EXPECT_NE(digest_of({call(op,
                              R"("self": )" + kX +
                                  R"(, "bias": {"input": "w"}, "dim": {"sizes": [7, 7]},
                                      "dims": {"sizes": [-1, 9]})",
                              "")}),
              "")
        << op;
  }
}

}  // namespace
}  // namespace kw::data
