// Tests of argmax, top-k and set outputs: ties and near ties pass, everything else fails.
#include "gym/correctness/indices.h"

#include <vector>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using Shape = std::vector<std::int64_t>;
using Whole = std::vector<std::int64_t>;

CheckReport check(const Whole& ours, const Whole& theirs, const std::vector<double>& values,
                  const Shape& shape, std::int64_t axis = -1,
                  const std::vector<double>& budgets = {}) {
  Shape flat = {static_cast<std::int64_t>(ours.size())};
  return check_indices({tensor::DType::kInt64, flat, std::as_bytes(std::span(ours))}, theirs,
                       {values, budgets, shape, axis});
}

TEST(Indices, ArgmaxAcceptsTiesOnly) {
  std::vector<double> values = {1, 5, 5, 2, 0, 3, 1, 2.9999};
  EXPECT_TRUE(check({1, 1}, {1, 1}, values, {2, 4}).passed);
  EXPECT_TRUE(check({2, 1}, {1, 1}, values, {2, 4}).passed);
  EXPECT_FALSE(check({3, 1}, {1, 1}, values, {2, 4}).passed);
  EXPECT_FALSE(check({1, 3}, {1, 1}, values, {2, 4}).passed);
  EXPECT_EQ(check({0, 3}, {1, 1}, values, {2, 4}).wrong, 2U);
}

TEST(Indices, ArgmaxOfAComputedTensorAcceptsWhatIsWithinBudget) {
  std::vector<double> values = {1, 5, 4.9995, 4.99}, budgets(4, 3e-4);
  EXPECT_TRUE(check({2}, {1}, values, {4}, 0, budgets).passed);
  EXPECT_NEAR(check({2}, {1}, values, {4}, 0, budgets).max_of_budget, 5.0 / 6, 1e-6);
  EXPECT_FALSE(check({3}, {1}, values, {4}, 0, budgets).passed);
}

TEST(Indices, OutOfRangeIsWrongAndReadsNothing) {
  std::vector<double> values = {1, 2, 3};
  EXPECT_FALSE(check({3}, {2}, values, {3}).passed);
  EXPECT_FALSE(check({-1}, {2}, values, {3}).passed);
  EXPECT_FALSE(check({std::int64_t{1} << 62}, {2}, values, {3}).passed);
}

TEST(Indices, AxisInTheMiddle) {
  // shape [2, 3, 2]; largest along axis 1
  std::vector<double> values = {1, 9, 8, 2, 3, 4, 7, 7, 7, 6, 5, 8};
  EXPECT_TRUE(check({1, 0, 0, 2}, {1, 0, 0, 2}, values, {2, 3, 2}, 1).passed);
  EXPECT_TRUE(check({1, 0, 1, 2}, {1, 0, 0, 2}, values, {2, 3, 2}, 1).passed);   // 7 and 7
  EXPECT_FALSE(check({1, 0, 2, 2}, {1, 0, 0, 2}, values, {2, 3, 2}, 1).passed);  // 5 for 7
  EXPECT_FALSE(check({0, 1, 0, 2}, {1, 0, 0, 2}, values, {2, 3, 2}, 1).passed);
}

TEST(Indices, TopKNeedsDistinctPlacesInTheReferencesOrder) {
  std::vector<double> values = {4, 9, 7, 7, 1};
  EXPECT_TRUE(check({1, 2, 3}, {1, 2, 3}, values, {5}).passed);
  EXPECT_TRUE(check({1, 3, 2}, {1, 2, 3}, values, {5}).passed);
  EXPECT_FALSE(check({1, 3, 3}, {1, 2, 3}, values, {5}).passed);  // one place twice
  EXPECT_FALSE(
      check({2, 1, 3}, {1, 2, 3}, values, {5}).passed);  // not sorted as the reference's are
  EXPECT_FALSE(check({1, 2, 0}, {1, 2, 3}, values, {5}).passed);
}

TEST(Indices, NanStandsForItself) {
  double nan = std::nan("");
  EXPECT_TRUE(check({1}, {1}, {1, nan, 2}, {3}).passed);
  EXPECT_FALSE(check({2}, {1}, {1, nan, 2}, {3}).passed);
}

TEST(Set, WholeNumbersInAnyOrderWithinARow) {
  Shape shape = {2, 3};
  auto check_rows = [&](const Whole& ours) {
    return check_set({tensor::DType::kInt64, shape, std::as_bytes(std::span(ours))},
                     Whole{1, 2, 2, 4, 5, 6})
        .passed;
  };
  EXPECT_TRUE(check_rows({2, 1, 2, 6, 5, 4}));
  EXPECT_FALSE(check_rows({2, 1, 1, 6, 5, 4}));
  EXPECT_FALSE(check_rows({2, 1, 4, 2, 5, 6}));  // over the border of a row
}

TEST(Set, FloatsWithinBudget) {
  Shape shape = {4};
  std::vector<double> exact = {3, -1, 7, 2}, moved = {3.0000003, -1.0000001, 7.0000008, 2.0000002};
  std::vector<float> trusted = {3, -1, 7, 2};
  auto budget = InstanceBudget::make(
      {tensor::DType::kFloat32, shape, 0},
      {exact, {tensor::DType::kFloat32, shape, std::as_bytes(std::span(trusted))}, {moved}});
  ASSERT_TRUE(budget);
  auto check_row = [&](const std::vector<float>& ours) {
    return check_set({tensor::DType::kFloat32, shape, std::as_bytes(std::span(ours))}, *budget)
        .passed;
  };
  EXPECT_TRUE(check_row({7.0000005F, 2, 3, -1}));
  EXPECT_FALSE(check_row({7.01F, 2, 3, -1}));
  EXPECT_FALSE(check_row({7, 7, 3, -1}));
  EXPECT_FALSE(check_row({7, std::nanf(""), 3, -1}));
}

}  // namespace
}  // namespace kw::gym
