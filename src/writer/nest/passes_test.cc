// What single transformations make of small nests.
#include <gtest/gtest.h>

#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"
#include "writer/loops/testing/graphs.h"
#include "writer/nest/groups.h"
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
      "    out0[i0, i1] = max(select(less(i1 + 1, W), x[i0, i1 + 1], -inf), max(x[i0, i1], "
      "select(greater_equal(i1 - 1, 0), x[i0, i1 - 1], -inf)))\n";
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

// One operator on x [A, B].
Nest of_operator(const char* op, const char* more, const char* shape, const char* dtype) {
  const TestGraph graph{
      .sizes = {{"A", 40}, {"B", 50}},
      .inputs = {{"x", R"(["A", "B"])"}},
      .nodes = {{op, fmt::format(R"("self": {{"input": "x"}}{})", more), shape, dtype}},
      .outputs = R"({"node": 0})"};
  return make_nest(lowered(graph));
}

TEST(TileTransposes, BothLoopsRunInBlocks) {
  Nest nest =
      of_operator("permute.default", R"(, "dims": {"sizes": [1, 0]})", R"(["B", "A"])", "float32");
  tile_transposes(nest, 16);
  EXPECT_EQ(to_text(nest),
            "for i0_tile < ((B + 15) // (16))\n"
            "  for i1_tile < ((A + 15) // (16))\n"
            "    for 16 * i1_tile <= i1_from < min(16 * i1_tile + 16, A)\n"
            "      for 16 * i0_tile <= i0_from < min(16 * i0_tile + 16, B)\n"
            "        t2[i0_from - 16 * i0_tile, i1_from - 16 * i1_tile] = x[i1_from, i0_from]\n"
            "    for 16 * i0_tile <= i0 < min(16 * i0_tile + 16, B)\n"
            "      for 16 * i1_tile <= i1 < min(16 * i1_tile + 16, A)\n"
            "        out0[i0, i1] = t2[i0 - 16 * i0_tile, i1 - 16 * i1_tile]\n");
}

// exp in float16 of x [A, B], rounded to it before.
TEST(ConvertLines, ReadsAndWritesAreConvertedALineAtATime) {
  const TestGraph graph{
      .sizes = {{"A", 40}, {"B", 50}},
      .inputs = {{"x", R"(["A", "B"])"}},
      .nodes = {{"_to_copy.default", R"("self": {"input": "x"}, "dtype": {"dtype": "float16"})",
                 R"(["A", "B"])", "float16"},
                {"exp.default", R"("self": {"node": 0})", R"(["A", "B"])", "float16"}},
      .outputs = R"({"node": 1})"};
  Nest nest = make_nest(lowered(graph));
  flatten_loops(nest);
  convert_lines(nest);
  EXPECT_EQ(to_text(nest),
            "for i1_line < ((A * B + 511) // (512))\n"
            "  for i1_at < min(512, A * B - 512 * i1_line)\n"
            "    t3[i1_at] = x[0, i1_at + 512 * i1_line]\n"
            "  for i1_at_to < min(512, A * B - 512 * i1_line)\n"
            "    t0[0, i1_at_to + 512 * i1_line] = float16(t3[i1_at_to])\n"
            "for i3_line < ((A * B + 511) // (512))\n"
            "  for i3_at_from < min(512, A * B - 512 * i3_line)\n"
            "    t4[i3_at_from] = float32(t0[0, i3_at_from + 512 * i3_line])\n"
            "  for i3_at < min(512, A * B - 512 * i3_line)\n"
            "    t5[i3_at] = exp(t4[i3_at])\n"
            "  for i3_at_to < min(512, A * B - 512 * i3_line)\n"
            "    out0[0, i3_at_to + 512 * i3_line] = float16(t5[i3_at_to])\n");
  Nest few = make_nest(lowered(graph));
  few.program.sizes = {{"A", 7}, {"B", 9}};
  flatten_loops(few);
  const std::string before = to_text(few);
  convert_lines(few);
  EXPECT_EQ(to_text(few), before) << "63 elements";
}

TEST(TileTransposes, WhatIsReadInOrderStays) {
  Nest nest = of_operator("relu.default", "", R"(["A", "B"])", "float32");
  const std::string before = to_text(nest);
  tile_transposes(nest, 16);
  EXPECT_EQ(to_text(nest), before);
  Nest transposed =
      of_operator("permute.default", R"(, "dims": {"sizes": [1, 0]})", R"(["B", "A"])", "float32");
  const std::string plain = to_text(transposed);
  tile_transposes(transposed, 0);
  EXPECT_EQ(to_text(transposed), plain);
}

TEST(ReduceSideBySide, FourRowsAtATime) {
  Nest nest =
      of_operator("sum.dim_IntList", R"(, "dim": {"sizes": [0]}, "keepdim": false, "dtype": null)",
                  R"(["B"])", "float32");
  reduce_side_by_side(nest, 256);
  EXPECT_EQ(to_text(nest),
            "for i0b < ((B + 255) // (256))\n"
            "  for i0l < min(256, B - 256 * i0b)\n"
            "    t2[i0l] = 0.0\n"
            "  for r0t < ((A) // (4))\n"
            "    for i0l < min(256, B - 256 * i0b)\n"
            "      t2[i0l] sum= x[4 * r0t, 256 * i0b + i0l]\n"
            "      t2[i0l] sum= x[4 * r0t + 1, 256 * i0b + i0l]\n"
            "      t2[i0l] sum= x[4 * r0t + 2, 256 * i0b + i0l]\n"
            "      t2[i0l] sum= x[4 * r0t + 3, 256 * i0b + i0l]\n"
            "  for r0 < A - 4 * ((A) // (4))\n"
            "    for i0l < min(256, B - 256 * i0b)\n"
            "      t2[i0l] sum= x[4 * ((A) // (4)) + r0, 256 * i0b + i0l]\n"
            "  for i0l < min(256, B - 256 * i0b)\n"
            "    out0[256 * i0b + i0l] = t2[i0l]\n");
}

TEST(ReduceSideBySide, APlaceIsToldFromTheBestBefore) {
  Nest nest = of_operator("argmax.default", R"(, "dim": 0, "keepdim": false)", R"(["B"])", "int64");
  reduce_side_by_side(nest, 256);
  const std::string text = to_text(nest);
  const std::string better =
      "select(or(greater(x[4 * r0t, 256 * i0b + i0l], t2[i0l]), and(not_equal(x[4 * r0t, 256 * i0b "
      "+ i0l], x[4 * r0t, 256 * i0b + i0l]), equal(t2[i0l], t2[i0l]))), ";
  const std::size_t place = text.find("      t3[i0l] = " + better + "4 * r0t, t3[i0l])\n"),
                    best = text.find("      t2[i0l] = " + better +
                                     "x[4 * r0t, 256 * i0b + i0l], t2[i0l])\n");
  ASSERT_NE(place, std::string::npos) << text;
  ASSERT_NE(best, std::string::npos) << text;
  EXPECT_LT(place, best);
  EXPECT_NE(text.find("out0[256 * i0b + i0l] = t3[i0l]\n"), std::string::npos) << text;
}

TEST(BoundReductions, AWindowEndsWhereItsConditionSaysSo) {
  Nest nest = of_operator("_adaptive_avg_pool2d.default", R"(, "output_size": {"sizes": [7, 7]})",
                          R"([7, 7])", "float32");
  bound_reductions(nest);
  EXPECT_EQ(
      to_text(nest).substr(0, to_text(nest).find("    out0")),
      "for i0 < 7\n"
      "  for i1 < 7\n"
      "    sum of float32 a1\n"
      "    for r0 < min(((A + 6) // (7)) + 1, ((A + A * i0 + 6) // (7)) - ((A * i0) // (7)))\n"
      "      for r1 < min(((B + 6) // (7)) + 1, ((B + B * i1 + 6) // (7)) - ((B * i1) // (7)))\n"
      "        a1 sum= x[((A * i0) // (7)) + r0, ((B * i1) // (7)) + r1]\n");
}

// The sum over a dimension of the product of x [A, B] and w [B], in two operators.
Program weighted_sum(const char* dim, const char* left) {
  const TestGraph graph{
      .sizes = {{"A", 40}, {"B", 50}},
      .inputs = {{"x", R"(["A", "B"])"}, {"w", R"(["B"])"}},
      .nodes = {{"mul.Tensor", R"("self": {"input": "x"}, "other": {"input": "w"})",
                 R"(["A", "B"])"},
                {"sum.dim_IntList",
                 fmt::format(R"("self": {{"node": 0}}, "dim": {{"sizes": [{}]}}, "keepdim": false)",
                             dim),
                 fmt::format(R"(["{}"])", left)}},
      .outputs = R"({"node": 1})"};
  Program program = lowered(graph);
  inline_terms(program);
  return program;
}

TEST(InlineTerms, OfWhatIsReadInStrides) {
  EXPECT_EQ(to_text(make_nest(weighted_sum("0", "B"))),
            "for i2 < B\n"
            "  sum of float32 a3\n"
            "  for r0 < A\n"
            "    a3 sum= mul(x[r0, i2], w[i2])\n"
            "  out0[i2] = reduced, reduced a3\n");
}

TEST(InlineTerms, AlongMemoryTheLoopsAreJoinedInstead) {
  EXPECT_EQ(weighted_sum("1", "A").steps.size(), 2U);
}

// Of a sum of three dimensions, whose first two are the rows.
TEST(BlockProducts, RowsOfAViewAreOneRun) {
  const TestGraph graph{
      .sizes = {{"A", 6}, {"B", 40}, {"C", 50}, {"D", 30}},
      .inputs = {{"x", R"(["A", "B", "C"])"}, {"w", R"(["C", "D"])"}},
      .nodes = {{"exp.default", R"("self": {"input": "x"})", R"(["A", "B", "C"])"},
                {"view.default", R"("self": {"node": 0}, "size": {"sizes": ["A * B", "C"]})",
                 R"(["A * B", "C"])"},
                {"mm.default", R"("self": {"node": 1}, "mat2": {"input": "w"})",
                 R"(["A * B", "D"])"}},
      .outputs = R"({"node": 2})"};
  Nest nest = make_nest(lowered(graph));
  block_products(nest);
  ASSERT_EQ(nest.body.size(), 2U) << to_text(nest);
  const auto* product = std::get_if<Product>(&nest.body[1].node);
  ASSERT_NE(product, nullptr) << to_text(nest);
  std::vector<Access> reads;
  collect_reads(product->left, reads);
  ASSERT_EQ(reads.size(), 1U);
  ASSERT_EQ(product->rows.size(), 2U);
  const auto by_row = stride(nest, reads[0], product->rows[1].variable),
             by_group = stride(nest, reads[0], product->rows[0].variable);
  ASSERT_TRUE(by_row && by_group) << to_text(nest);
  EXPECT_EQ(*by_row * product->rows[1].extent, *by_group);
}

TEST(FuseLoops, WhatIsComputedOnceGoesBeforeTheLoops) {
  const TestGraph graph{
      .sizes = {{"A", 40}},
      .inputs = {{"x", R"(["A"])"}, {"b", "[]"}},
      .nodes = {{"exp.default", R"("self": {"input": "x"})", R"(["A"])"},
                {"neg.default", R"("self": {"input": "b"})", "[]"},
                {"exp.default", R"("self": {"node": 1})", "[]"},
                {"mul.Tensor", R"("self": {"node": 0}, "other": {"node": 2})", R"(["A"])"}},
      .outputs = R"({"node": 3})"};
  Nest nest = make_nest(lowered(graph));
  fuse_loops(nest);
  shrink_buffers(nest);
  EXPECT_EQ(to_text(nest),
            "local t0[]\n"
            "local t1[]\n"
            "local t2[]\n"
            "t1[] = neg(b[])\n"
            "t2[] = exp(t1[])\n"
            "for i0 < A\n"
            "  t0[i0] = exp(x[i0])\n"
            "  out0[i0] = mul(t0[i0], t2[])\n");
}

TEST(Groups, AreMembersOfTheirOwn) {
  const IntExpr i = IntExpr::symbol("i");
  const ScalarRef value =
      load(0, tensor::DType::kFloat32,
           {index_number(IntExpr::call(IntFunction::kFloorDiv, i, 4)), index_number(i)});
  const Groups groups = split_groups(value, {{"i", 8}, {"j", 5}});
  ASSERT_EQ(groups.loops.size(), 3U);
  EXPECT_EQ(groups.loops[0].variable, "ig");
  EXPECT_EQ(groups.loops[0].extent, IntExpr(2));
  EXPECT_EQ(groups.loops[1].variable, "im");
  EXPECT_EQ(groups.loops[1].extent, IntExpr(4));
  EXPECT_EQ(groups.places.at("i"), IntExpr(4) * IntExpr::symbol("ig") + IntExpr::symbol("im"));
  EXPECT_TRUE(split_groups(value, {{"i", 6}}).places.empty()) << "4 does not divide 6";
}

}  // namespace
}  // namespace kw::writer
