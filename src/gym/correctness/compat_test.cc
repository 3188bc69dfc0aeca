// Tests of the two foreign rules on values around their limits.
#include "gym/correctness/compat.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/half.h"

namespace kw::gym {
namespace {

using tensor::DType;
using Shape = std::vector<std::int64_t>;
const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

struct Tensor {
  DType dtype;
  Shape shape;
  std::vector<std::byte> bytes;
  Tensor(DType type, const std::vector<float>& values)
      : dtype(type),
        shape{static_cast<std::int64_t>(values.size())},
        bytes(values.size() * tensor::size_of(type)) {
    store(type, values, 0, bytes);
  }
  TensorView view() const { return {dtype, shape, bytes}; }
};

bool close(DType dtype, const std::vector<float>& ours, const std::vector<float>& reference) {
  return kernelbench_compare(Tensor(dtype, ours).view(), Tensor(dtype, reference).view()).close;
}

TEST(KernelBench, ToleranceByDtype) {
  EXPECT_TRUE(close(DType::kFloat32, {1.00019F}, {1}));
  EXPECT_FALSE(close(DType::kFloat32, {1.00021F}, {1}));
  EXPECT_TRUE(close(DType::kFloat32, {0.000099F}, {0}));
  EXPECT_FALSE(close(DType::kFloat32, {0.000101F}, {0}));
  EXPECT_TRUE(close(DType::kFloat16, {1.015F}, {1}));
  EXPECT_FALSE(close(DType::kFloat16, {1.03F}, {1}));
  EXPECT_TRUE(close(DType::kBFloat16, {1.015625F}, {1}));
  EXPECT_FALSE(close(DType::kBFloat16, {1.0390625F}, {1}));
  EXPECT_FALSE(close(DType::kFloat64, {1.00021F}, {1}));
}

TEST(KernelBench, ToleranceIsRelativeToTheCandidate) {
  // 2.0002 apart: within 1e-4 + 1e-4 |candidate| for the larger candidate, not for the smaller one.
  Shape shape = {1};
  double small = 20000, large = 20002.0002;
  TensorView s{DType::kFloat64, shape, std::as_bytes(std::span(&small, 1))},
      l{DType::kFloat64, shape, std::as_bytes(std::span(&large, 1))};
  EXPECT_TRUE(kernelbench_compare(l, s).close);
  EXPECT_FALSE(kernelbench_compare(s, l).close);
}

TEST(KernelBench, SpecialValues) {
  EXPECT_FALSE(close(DType::kFloat32, {kNan}, {kNan}));
  EXPECT_TRUE(close(DType::kFloat32, {kInfinity}, {kInfinity}));
  EXPECT_FALSE(close(DType::kFloat32, {-kInfinity}, {kInfinity}));
  EXPECT_FALSE(close(DType::kFloat32, {kInfinity},
                     {1}));  // the tolerance is infinite, but so is the difference
  EXPECT_FALSE(close(DType::kFloat32, {1}, {kInfinity}));
}

TEST(KernelBench, ShapesMustBeEqual) {
  Tensor a(DType::kFloat32, {1, 2, 3, 4}), b(DType::kFloat32, {1, 2, 3, 4});
  b.shape = {2, 2};
  KernelBenchResult result = kernelbench_compare(a.view(), b.view());
  EXPECT_FALSE(result.shape_equal || result.close);
}

TEST(KernelBench, ReportsDifferences) {
  KernelBenchResult result = kernelbench_compare(Tensor(DType::kFloat32, {1, 2.5F, 3, 4}).view(),
                                                 Tensor(DType::kFloat32, {1, 2, 3, 4.25F}).view());
  EXPECT_FALSE(result.close);
  EXPECT_EQ(result.max_difference, 0.5);
  EXPECT_EQ(result.average_difference, 0.1875);
  EXPECT_TRUE(std::isnan(kernelbench_compare(Tensor(DType::kFloat32, {kNan}).view(),
                                             Tensor(DType::kFloat32, {1}).view())
                             .max_difference));
}

TEST(KernelBench, WholeNumbers) {
  Shape shape = {2};
  auto whole = [&](std::vector<std::int64_t> ours, std::vector<std::int64_t> theirs) {
    return kernelbench_compare({DType::kInt64, shape, std::as_bytes(std::span(ours))},
                               {DType::kInt64, shape, std::as_bytes(std::span(theirs))})
        .close;
  };
  EXPECT_TRUE(whole({1, 2}, {1, 2}));
  EXPECT_FALSE(whole({1, 2}, {1, 3}));
  EXPECT_TRUE(whole({1, 20001}, {1, 20000}));  // their rule: one in 20000 is within 1e-4
}

FlashInferResult compare(const std::vector<float>& ours, const std::vector<float>& reference,
                         double ratio = 1) {
  return flashinfer_compare(Tensor(DType::kFloat32, ours).view(),
                            Tensor(DType::kFloat32, reference).view(),
                            {.required_matched_ratio = ratio});
}

TEST(FlashInfer, FailsOnlyWhenBothErrorsAreTooLarge) {
  EXPECT_EQ(compare({0.009F}, {0}).status,
            FlashInferStatus::kPassed);  // everything under 1e-2 may be anything
  EXPECT_EQ(compare({0.011F}, {0}).status, FlashInferStatus::kIncorrectNumerical);
  EXPECT_EQ(compare({100.9F}, {100}).status, FlashInferStatus::kPassed);
  EXPECT_EQ(compare({101.1F}, {100}).status, FlashInferStatus::kIncorrectNumerical);
  EXPECT_EQ(compare({}, {}).status, FlashInferStatus::kPassed);
}

TEST(FlashInfer, ErrorsAreMaximaOverAllElements) {
  FlashInferResult result = compare({1.5F, 0.001F}, {1, 0});
  EXPECT_EQ(result.max_absolute_error, 0.5);
  EXPECT_NEAR(result.max_relative_error, 1e5, 1);  // 0.001 / 1e-8, though that element is right
  EXPECT_EQ(result.matched_ratio, 0.5);
}

TEST(FlashInfer, MatchedRatio) {
  std::vector<float> reference(100, 1.0F), ours = reference;
  for (std::size_t i = 0; i < 5; ++i) ours[i] = 2;
  EXPECT_EQ(compare(ours, reference, 0.95).status, FlashInferStatus::kPassed);
  ours[5] = 2;
  EXPECT_EQ(compare(ours, reference, 0.95).status, FlashInferStatus::kIncorrectNumerical);
}

TEST(FlashInfer, NonFiniteCandidatesFail) {
  FlashInferResult result = compare({kInfinity, kNan}, {kInfinity, 1});
  EXPECT_EQ(result.status, FlashInferStatus::kIncorrectNumerical);
  EXPECT_TRUE(std::isinf(result.max_absolute_error));
  result = compare({kNan, 1}, {1, 1});
  EXPECT_EQ(result.status, FlashInferStatus::kIncorrectNumerical);
  EXPECT_TRUE(std::isnan(result.max_relative_error));
  // Their rule, to the letter: a finite candidate passes where the reference is not finite.
  EXPECT_EQ(compare({5}, {kNan}).status, FlashInferStatus::kPassed);
  EXPECT_EQ(compare({5}, {kInfinity}).status, FlashInferStatus::kPassed);
}

TEST(FlashInfer, ShapeThenDtype) {
  Tensor a(DType::kFloat16, {1, 2}), b(DType::kFloat32, {1, 2}), c(DType::kFloat16, {1, 2, 3});
  EXPECT_EQ(flashinfer_compare(a.view(), b.view()).status, FlashInferStatus::kIncorrectDtype);
  EXPECT_EQ(flashinfer_compare(c.view(), b.view()).status, FlashInferStatus::kIncorrectShape);
}

}  // namespace
}  // namespace kw::gym
