#include "writer/cpp/wide_accumulators.h"

#include <gtest/gtest.h>

namespace kw::writer {
namespace {

NestNode loop_of(const char* variable, std::int64_t extent, NestList body) {
  NestLoop out;
  out.variable = variable;
  out.extent = IntExpr(extent);
  out.body = std::move(body);
  return {std::move(out)};
}

// The names of a nest that sums over `extents`, outermost first, in each of four iterations.
std::set<std::string> wide(const std::vector<std::int64_t>& extents, ReduceOp op = ReduceOp::kSum,
                           tensor::DType dtype = tensor::DType::kFloat32) {
  Accumulate step;
  step.name = "a1";
  step.op = op;
  NestList body;
  body.push_back({std::move(step)});
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    NestNode loop = loop_of("r", *extent, std::move(body));
    body.clear();
    body.push_back(std::move(loop));
  }
  body.insert(body.begin(), {Declare{"a1", op, dtype}});
  Nest nest;
  nest.body.push_back(loop_of("i", 4, std::move(body)));
  return wide_accumulators(nest);
}

TEST(WideAccumulators, OfManyElementsOverSeveralLoops) {
  EXPECT_TRUE(wide({1100, 4}).contains("a1"));
  EXPECT_TRUE(wide({16, 8, 8}).contains("a1"));
  EXPECT_FALSE(wide({16, 8, 7}).contains("a1"));
  EXPECT_FALSE(wide({4400}).contains("a1"));  // has lanes
  EXPECT_TRUE(wide({std::int64_t{1} << 40, std::int64_t{1} << 40}).contains("a1"));
}

TEST(WideAccumulators, OfScans) {
  const auto scanned = [](ReduceOp op, tensor::DType dtype) {
    Scan scan;
    scan.stage.op = op;
    scan.stage.accumulator = dtype;
    scan.stage.out = 3;
    Nest nest;
    nest.body.push_back({Routine{{std::move(scan)}}});
    return wide_accumulators(nest).contains("a3");
  };
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kLogAddExp}) {
    EXPECT_TRUE(scanned(op, tensor::DType::kFloat32));
    EXPECT_FALSE(scanned(op, tensor::DType::kFloat64));
  }
  EXPECT_FALSE(scanned(ReduceOp::kMax, tensor::DType::kFloat32));
}

TEST(WideAccumulators, NothingElse) {
  EXPECT_FALSE(wide({1100, 4}, ReduceOp::kMax).contains("a1"));
  EXPECT_FALSE(wide({1100, 4}, ReduceOp::kSum, tensor::DType::kFloat64).contains("a1"));
}

}  // namespace
}  // namespace kw::writer
