// The ends of drawn values, by dtype and policy.
#include "gym/inputs/value_bounds.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "tensor/half.h"

namespace kw::gym {
namespace {

using task::Distribution;
using tensor::DType;

class ValueBoundsTest : public ::testing::Test {
 protected:
  static task::InputPolicy policy(Distribution distribution) {
    task::InputPolicy out;
    out.distribution = distribution;
    return out;
  }
  static task::InputPolicy within(Distribution distribution, double low, double high) {
    task::InputPolicy out = policy(distribution);
    out.low = low;
    out.high = high;
    return out;
  }
  static void expect(ValueBounds bounds, double low, double high) {
    EXPECT_EQ(bounds.low, low);
    EXPECT_EQ(bounds.high, high);
  }
};

TEST_F(ValueBoundsTest, WholeNumbersThatADtypeHoldsWithoutAGap) {
  EXPECT_EQ(whole_range(DType::kBool).most, 1);
  EXPECT_EQ(whole_range(DType::kUInt8).most, 255);
  EXPECT_EQ(whole_range(DType::kUInt8).least, 0);
  EXPECT_EQ(whole_range(DType::kInt8).least, -128);
  EXPECT_EQ(whole_range(DType::kInt32).most, 2147483647.0);
  EXPECT_EQ(whole_range(DType::kFloat32).most, 16777216.0);
  EXPECT_EQ(whole_range(DType::kBFloat16).most, 256.0);
  EXPECT_LT(whole_range(DType::kInt64).most, 0x1p63);
}

TEST_F(ValueBoundsTest, ThePolicysEndsComeBeforeThoseOfItsDistribution) {
  expect(bounds_of(DType::kFloat32, policy(Distribution::kNormal)), 0, 1);
  expect(bounds_of(DType::kFloat32, policy(Distribution::kSpikes)), 0, 1e4);
  expect(bounds_of(DType::kFloat32, policy(Distribution::kWideRange)), -10, 10);
  expect(bounds_of(DType::kFloat32, within(Distribution::kSpikes, 2, 3)), 2, 3);
  task::InputPolicy only_high = policy(Distribution::kIntegers);
  only_high.high = 2;
  expect(bounds_of(DType::kInt32, only_high), -4, 2);
  expect(bounds_of(DType::kUInt8, policy(Distribution::kIntegers)), 0, 4);
  expect(bounds_of(DType::kBool, policy(Distribution::kIntegers)), 0, 1);
}

TEST_F(ValueBoundsTest, OfWholeNumbersBothEndsAreDrawnButForUniformOnes) {
  expect(whole_bounds(DType::kInt32, policy(Distribution::kDefault)), -1024, 1023);
  expect(whole_bounds(DType::kInt8, policy(Distribution::kDefault)), -128, 127);
  expect(whole_bounds(DType::kInt32, within(Distribution::kIntegers, 0.5, 3.5)), 1, 3);
  expect(whole_bounds(DType::kInt32, within(Distribution::kUniform, 0, 10)), 0, 9);
  expect(whole_bounds(DType::kInt32, within(Distribution::kUniform, 0.5, 9.5)), 1, 9);
}

// Rounding to a narrow dtype may neither leave the range nor reach its open end.
TEST_F(ValueBoundsTest, EndsStayInsideWhenTheyAreRounded) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    const ValueBounds ends = representable_bounds(dtype, {0.1, 0.7});
    EXPECT_GE(ends.low, 0.1);
    EXPECT_LT(ends.high, 0.7);
    EXPECT_NEAR(ends.low, 0.1, 0.1 * tensor::epsilon_of(DType::kBFloat16));
    EXPECT_NEAR(ends.high, 0.7, 0.7 * tensor::epsilon_of(DType::kBFloat16));
  }
  EXPECT_LT(representable_bounds(DType::kFloat32, {-1, 0}).high, 0);
  EXPECT_EQ(representable_bounds(DType::kFloat32, {0, 1}).low, 0);
}

TEST_F(ValueBoundsTest, BothEndsOfWholeNumbersCount) {
  EXPECT_EQ(count_of({-2, 2}), 5U);
  EXPECT_EQ(count_of({7, 7}), 1U);
}

}  // namespace
}  // namespace kw::gym
