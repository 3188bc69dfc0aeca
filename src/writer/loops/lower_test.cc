#include <gtest/gtest.h>

#include "writer/loops/testing/graphs.h"

namespace kw::writer {
namespace {

std::string refusal(const TestGraph& graph) {
  Result<Program> out = lower(graph.graph());
  EXPECT_FALSE(out);
  return out ? "" : out.error().message();
}

constexpr const char* kSelf = R"("self": {"input": "x"})";

TEST(Lower, ViewsAreIndices) {
  // permute, merge, split, scale: one stage that reads x at permuted places.
  const TestGraph graph{
      .sizes = {{"B", 2}, {"H", 3}, {"W", 4}},
      .inputs = {{"x", R"(["B", "H", "W"])"}},
      .nodes = {{"permute.default", fmt::format(R"({}, "dims": {{"sizes": [0, 2, 1]}})", kSelf),
                 R"(["B", "W", "H"])"},
                {"view.default", R"("self": {"node": 0}, "size": {"sizes": ["B", "W * H"]})",
                 R"(["B", "W * H"])"},
                {"view.default", R"("self": {"node": 1}, "size": {"sizes": ["B", "W", "H"]})",
                 R"(["B", "W", "H"])"},
                {"mul.Tensor", R"("self": {"node": 2}, "other": 2.0)", R"(["B", "W", "H"])"}},
      .outputs = R"({"node": 3})"};
  EXPECT_EQ(to_text(lowered(graph)),
            "input x float32 [B, H, W]\n"
            "output out0 float32 [B, W, H]\n"
            "stage (mul, node 3) for i0 < B, i1 < W, i2 < H\n"
            "  out0[i0, i1, i2] = mul(x[i0, i2, i1], 2.0)\n"
            "return out0\n");
}

TEST(Lower, ConcatenationAndPaddingAreReadThrough) {
  const TestGraph graph{
      .sizes = {{"M", 3}, {"N", 4}},
      .inputs = {{"x", R"(["M"])"}, {"y", R"(["N"])"}},
      .nodes = {{"cat.default",
                 R"("tensors": {"tensors": [{"input": "x"}, {"input": "y"}]}, "dim": 0)",
                 R"(["M + N"])"},
                {"constant_pad_nd.default",
                 R"("self": {"node": 0}, "pad": {"sizes": [1, 0]}, "value": 0.5)",
                 R"(["M + N + 1"])"},
                {"neg.default", R"("self": {"node": 1})", R"(["M + N + 1"])"}},
      .outputs = R"({"node": 2})"};
  const Program program = lowered(graph);
  ASSERT_EQ(program.steps.size(), 1U);
  const auto out = interpret(program, {{1, 2, 3}, {4, 5, 6, 7}}, {{"M", 3}, {"N", 4}});
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_EQ(out->at(0), (std::vector<double>{-0.5, -1, -2, -3, -4, -5, -6, -7}));
}

TEST(Lower, SoftmaxSubtractsTheMaximum) {
  const TestGraph graph{
      .sizes = {{"M", 2}, {"N", 3}},
      .inputs = {{"x", R"(["M", "N"])"}},
      .nodes = {{"_softmax.default", fmt::format(R"({}, "dim": 1, "half_to_float": false)", kSelf),
                 R"(["M", "N"])"}},
      .outputs = R"({"node": 0})"};
  const Program program = lowered(graph);
  EXPECT_EQ(to_text(program),
            "input x float32 [M, N]\n"
            "scratch t0 float32 [M]\n"
            "scratch t1 float32 [M, N]\n"
            "scratch t2 float32 [M]\n"
            "output out0 float32 [M, N]\n"
            "stage (_softmax: max, node 0) for i0 < M\n"
            "  t0[i0] = max in float32 over r0 < N of x[i0, r0]\n"
            "stage (_softmax: exponentials, node 0) for i1 < M, i2 < N\n"
            "  t1[i1, i2] = exp(sub(x[i1, i2], t0[i1]))\n"
            "stage (_softmax: sum, node 0) for i3 < M\n"
            "  t2[i3] = sum in float32 over r1 < N of t1[i3, r1]\n"
            "stage (_softmax, node 0) for i4 < M, i5 < N\n"
            "  out0[i4, i5] = div(t1[i4, i5], t2[i4])\n"
            "return out0\n");
  const auto out = interpret(program, {{1000, 1000, 1000, -5, 0, -5}}, {{"M", 2}, {"N", 3}});
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_DOUBLE_EQ(out->at(0)[0], 1.0 / 3);
}

TEST(Lower, ScansOfFlippedTensorsRunBackwards) {
  const TestGraph graph{
      .sizes = {{"N", 4}},
      .inputs = {{"x", R"(["N"])"}},
      .nodes = {{"flip.default", fmt::format(R"({}, "dims": {{"sizes": [0]}})", kSelf), R"(["N"])"},
                {"cumsum.default", R"("self": {"node": 0}, "dim": 0, "dtype": null)", R"(["N"])"},
                {"flip.default", R"("self": {"node": 1}, "dims": {"sizes": [0]})", R"(["N"])"}},
      .outputs = R"({"node": 2})"};
  const Program program = lowered(graph);
  EXPECT_EQ(to_text(program),
            "input x float32 [N]\n"
            "output out0 float32 [N]\n"
            "scan (cumsum, node 1) for i0 < N\n"
            "  out0[i0] = running sum in float32 along i0 backwards of x[i0]\n"
            "return out0\n");
  const auto out = interpret(program, {{1, 2, 3, 4}}, {{"N", 4}});
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_EQ(out->at(0), (std::vector<double>{10, 9, 7, 4}));
}

TEST(Lower, EveryMissingOperatorIsNamed) {
  const TestGraph graph{.sizes = {{"N", 4}},
                        .inputs = {{"x", R"(["N"])"}},
                        .nodes = {{"fft_fft.default", kSelf, R"(["N"])"},
                                  {"bernoulli.default", R"("self": {"node": 0})", R"(["N"])"},
                                  {"native_dropout.default",
                                   R"("input": {"node": 1}, "p": 0.5, "train": true)", R"(["N"])"},
                                  {"histc.default", kSelf, R"(["N"])"}},  // nobody reads it
                        .outputs = R"({"node": 2})"};
  EXPECT_EQ(refusal(graph),
            "no kernels are written for bernoulli.default, fft_fft.default, native_dropout.default "
            "(train)");
}

TEST(Lower, ArgumentsThatDoNotFitAreRefused) {
  const auto refused = [](const std::string& op, const std::string& arguments,
                          const std::string& shape) {
    return refusal({.sizes = {{"M", 2}, {"N", 3}},
                    .inputs = {{"x", R"(["M", "N"])"}, {"y", R"(["N"])"}},
                    .nodes = {{op, arguments, shape}},
                    .outputs = R"({"node": 0})"});
  };
  EXPECT_EQ(
      refused("sum.dim_IntList", R"("self": {"input": "x"}, "dim": {"sizes": [2]})", R"(["M"])"),
      "node 0 (sum.dim_IntList): dimension 2 of a tensor of 2");
  EXPECT_EQ(
      refused("mm.default", R"("self": {"input": "x"}, "mat2": {"input": "y"})", R"(["M", "N"])"),
      "node 0 (mm.default): a matrix of less than two dimensions");
  EXPECT_EQ(refused("permute.default", R"("self": {"input": "x"}, "dims": {"sizes": [0, 0]})",
                    R"(["M", "N"])"),
            "node 0 (permute.default): dims is no permutation");
  EXPECT_EQ(refused("exp.default", R"("self": {"input": "x"})", R"(["N"])"),
            "node 0 (exp.default): an operand of 2 dimensions for a result of 1");
  EXPECT_EQ(refused("exp.default", R"("other": {"input": "x"})", R"(["M", "N"])"),
            "node 0 (exp.default): self is no tensor");
}

TEST(Interpret, BadInputIsAnError) {
  const TestGraph graph{.sizes = {{"N", 4}},
                        .inputs = {{"x", R"(["N"])"}},
                        .nodes = {{"exp.default", kSelf, R"(["N"])"}},
                        .outputs = R"({"node": 0})"};
  const Program program = lowered(graph);
  EXPECT_FALSE(interpret(program, {{1, 2}}, {{"N", 4}}));
  EXPECT_FALSE(interpret(program, {{1, 2, 3, 4}}, {}));
  EXPECT_FALSE(interpret(program, {}, {{"N", 4}}));
  EXPECT_TRUE(interpret(program, {{1, 2, 3, 4}}, {{"N", 4}}));
}

TEST(Interpret, IndicesOutOfBoundsAreAnError) {
  const TestGraph graph{
      .sizes = {{"N", 4}},
      .inputs = {{"x", R"(["N"])"}},
      .nodes = {{"_to_copy.default", kSelf, R"(["N"])", "int64"},
                {"index_select.default",
                 fmt::format(R"({}, "dim": 0, "index": {{"node": 0}})", kSelf), R"(["N"])"}},
      .outputs = R"({"node": 1})"};
  const Program program = lowered(graph);
  EXPECT_EQ(interpret(program, {{3, 1, 0, 2}}, {{"N", 4}}).value().at(0),
            (std::vector<double>{2, 1, 3, 0}));
  const auto out = interpret(program, {{3, 1, 0, 4}}, {{"N", 4}});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message(), "index_select: index 4 of dimension 0 of x is out of bounds");
}

TEST(Interpret, RoundsToDtypesWhereAsked) {
  TestGraph graph{.sizes = {{"N", 2}},
                  .inputs = {{"x", R"(["N"])"}},
                  .nodes = {{"_to_copy.default", kSelf, R"(["N"])", "bfloat16"}},
                  .outputs = R"({"node": 0})"};
  const Program program = lowered(graph);
  EXPECT_EQ(interpret(program, {{1.00390625, 1.01171875}}, {{"N", 2}}).value().at(0),
            (std::vector<double>{1.00390625, 1.01171875}));
  // Half-way cases go to the even neighbour.
  EXPECT_EQ(
      interpret(program, {{1.00390625, 1.01171875}}, {{"N", 2}}, Rounding::kDtype).value().at(0),
      (std::vector<double>{1.0, 1.015625}));
}

}  // namespace
}  // namespace kw::writer
