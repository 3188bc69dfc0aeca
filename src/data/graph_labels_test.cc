// Digests of graphs: equal for what is the same written otherwise, and for nothing else.
#include "data/graph_labels.h"

#include <map>

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
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < same.size(); ++i) {
    const std::string first = digest_of(same[i][0]);
    for (const auto& way : same[i]) EXPECT_EQ(digest_of(way), first) << i << ": " << way.back();
    EXPECT_TRUE(seen.emplace(first, i).second) << i << " is " << seen[first];
  }
}

TEST(GraphDigest, OtherComputationsDiffer) {
  const std::vector<std::vector<std::string>> all = {
      {binary("add", kX, kY)},
      {binary("add", kX, kX)},
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
