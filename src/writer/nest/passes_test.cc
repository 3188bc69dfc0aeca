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
      .nodes = {{"max_pool1d.default",
                 fmt::format(R"("self": {{"input": "x"}}, "kernel_size": {{"sizes": [{}]}}, "stride": {{"sizes": [{}]}}, "padding": {{"sizes": [{}]}})",
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
  EXPECT_EQ(unrolled(pooled("3", "2", "0", "(W - 3) // 2 + 1")), "");
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
  EXPECT_EQ(to_text(nest), "");
}

TEST(SplitBorders, NothingToDoWithoutBorders) {
  Nest nest = pooled("3", "1", "0", "W - 2");
  unroll_windows(nest);
  const std::string before = to_text(nest);
  split_borders(nest);
  EXPECT_EQ(to_text(nest), before);
}

// y = x + b, whose b has the given shape.
std::string added(const char* shape_of_b, const char* dims) {
  const TestGraph graph{
      .sizes = {{"A", 2}, {"B", 3}, {"C", 4}},
      .inputs = {{"x", R"(["A", "B", "C"])"}, {"b", shape_of_b}},
      .nodes = {{"permute.default",
                 fmt::format(R"("self": {{"input": "x"}}, "dims": {{"sizes": {}}})", dims),
                 R"(["A", "B", "C"])"},
                {"add.Tensor", R"("self": {"node": 0}, "other": {"input": "b"})",
                 R"(["A", "B", "C"])"}},
      .outputs = R"({"node": 1})"};
  Nest nest = make_nest(lowered(graph));
  flatten_loops(nest);
  return to_text(nest);
}

TEST(FlattenLoops, DenseLoopsBecomeOne) {
  EXPECT_EQ(added(R"(["A", "B", "C"])", "[0, 1, 2]"), "");
}

TEST(FlattenLoops, BroadcastsKeepTheirLoop) {
  EXPECT_EQ(added(R"(["C"])", "[0, 1, 2]"), "");
  EXPECT_EQ(added(R"(["A", 1, 1])", "[0, 1, 2]"), "");
}

}  // namespace
}  // namespace kw::writer
