// What single transformations make of small nests.
#include <gtest/gtest.h>

#include "writer/loops/testing.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

// A pooling window over the last dimension of x [B, W].
Nest pooled(const char* window, const char* stride, const char* padding, const char* outputs) {
  const TestGraph graph{
      .sizes = {{"B", 3}, {"W", 40}},
      .inputs = {{"x", R"(["B", "W"])"}},
      .nodes =
          {{"max_pool1d.default",
            fmt::format(
                R"("self": {{"input": "x"}}, "kernel_size": {{"sizes": [{}]}}, "stride": {{"sizes": [{}]}}, "padding": {{"sizes": [{}]}})",
                window, stride, padding),
            fmt::format(R"(["B", "{}"])", outputs)}},
      .outputs = R"({"node": 0})"};
  return make_nest(lowered(graph));
}

std::string unrolled(Nest nest) {
  unroll_windows(nest);
  return to_text(nest);
}

TEST(UnrollWindows, ConstantWindowsBecomeOneExpression) {
  EXPECT_EQ(unrolled(pooled("3", "2", "0", "(W - 3) // 2 + 1")),
            "for i0 < B\n"
            "  for i1 < ((W - 3) // (2)) + 1\n"
            "    out0[i0, i1] = max(x[i0, 2 * i1 + 2], max(x[i0, 2 * i1 + 1], x[i0, 2 * i1]))\n");
}

TEST(UnrollWindows, LongWindowsAndFarOutputsStay) {
  EXPECT_EQ(unrolled(pooled("65", "1", "0", "W - 64")), to_text(pooled("65", "1", "0", "W - 64")));
  EXPECT_EQ(unrolled(pooled("5", "5", "0", "(W - 5) // 5 + 1")),
            to_text(pooled("5", "5", "0", "(W - 5) // 5 + 1")));
}

TEST(SplitBorders, TheInsideHasNoTests) {
  Nest nest = pooled("3", "1", "1", "W");
  unroll_windows(nest);
  split_borders(nest);
  const std::string border =
      "    out0[i0, i1] = max(select(and(greater_equal(i1 + 1, 0), less(i1 + 1, W)), x[i0, i1 + "
      "1], "
      "-inf), max(select(and(greater_equal(i1, 0), less(i1, W)), x[i0, i1], -inf), "
      "select(and(greater_equal(i1 - 1, 0), less(i1 - 1, W)), x[i0, i1 - 1], -inf)))\n";
  EXPECT_EQ(to_text(nest),
            "for i0 < B\n"
            "  for i1 < max(0, min(1, W))\n" +
                border +
                "  for max(0, min(1, W)) <= i1 < max(min(W - 1, W), max(0, min(1, W)))\n"
                "    out0[i0, i1] = max(x[i0, i1 + 1], max(x[i0, i1], x[i0, i1 - 1]))\n"
                "  for max(min(W - 1, W), max(0, min(1, W))) <= i1 < W\n" +
                border);
}

TEST(SplitBorders, NothingToDoWithoutBorders) {
  Nest nest = pooled("3", "1", "0", "W - 2");
  unroll_windows(nest);
  const std::string before = to_text(nest);
  split_borders(nest);
  EXPECT_EQ(to_text(nest), before);
}

// x + b, whose b has the given shape.
std::string added(const char* shape_of_b) {
  const TestGraph graph{
      .sizes = {{"A", 2}, {"B", 3}, {"C", 4}},
      .inputs = {{"x", R"(["A", "B", "C"])"}, {"b", shape_of_b}},
      .nodes = {{"add.Tensor", R"("self": {"input": "x"}, "other": {"input": "b"})",
                 R"(["A", "B", "C"])"}},
      .outputs = R"({"node": 0})"};
  Nest nest = make_nest(lowered(graph));
  flatten_loops(nest);
  return to_text(nest);
}

TEST(FlattenLoops, DenseLoopsBecomeOne) {
  EXPECT_EQ(added(R"(["A", "B", "C"])"),
            "for i2 < A * B * C\n"
            "  out0[0, 0, i2] = add(x[0, 0, i2], b[0, 0, i2])\n");
}

TEST(FlattenLoops, BroadcastsKeepTheirLoop) {
  EXPECT_EQ(added(R"(["C"])"),
            "for i1 < A * B\n"
            "  for i2 < C\n"
            "    out0[0, i1, i2] = add(x[0, i1, i2], b[i2])\n");
  EXPECT_EQ(added(R"(["A", 1, 1])"),
            "for i0 < A\n"
            "  for i2 < B * C\n"
            "    out0[i0, 0, i2] = add(x[i0, 0, i2], b[i0, 0, 0])\n");
}

}  // namespace
}  // namespace kw::writer
