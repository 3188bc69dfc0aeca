// Tests of budgets and of the exact check: NaN, infinities, edges of the budget, whole numbers,
// structure of errors.
#include "gym/correctness/compare.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "gym/correctness/testing/random_case.h"

namespace kw::gym {
namespace {

using tensor::DType;
using testing::RandomCase;
using Shape = std::vector<std::int64_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double identity(double x) {
  return x;
}

CheckReport check(const RandomCase& c, const std::vector<double>& values) {
  std::vector<std::byte> bytes = c.stored(values);
  return check_against_oracle(c.view(bytes), c.budget().value());
}

TEST(Slices, AreTheLastDimensionOrEnoughOfThem) {
  auto expect = [](Shape shape, std::size_t rows, std::size_t columns) {
    Slices s = slices_of(shape);
    EXPECT_EQ(s.rows, rows);
    EXPECT_EQ(s.columns, columns);
  };
  expect({8, 100}, 8, 100);
  expect({2, 3, 7, 7}, 6, 49);
  expect({64, 1}, 1, 64);
  expect({100000}, 1, 100000);
  expect({4, 2}, 1, 8);
  expect({}, 1, 1);
  expect({0, 4}, 0, 0);
}

TEST(Budget, RefusesRunsThatAreNoEvidence) {
  RandomCase c(DType::kFloat32, {4, 50}, 1, identity);
  EXPECT_FALSE(InstanceBudget::make({c.dtype, c.shape, 0}, {c.exact, c.view(c.trusted), {}}));
  EXPECT_FALSE(
      InstanceBudget::make({c.dtype, {4, 51}, 0}, {c.exact, c.view(c.trusted), {c.perturbed[0]}}));
  c.exact[7] = std::nan("");
  auto budget = c.budget();
  ASSERT_FALSE(budget);
  EXPECT_NE(budget.error().message().find("NaN"), std::string::npos);
}

TEST(Budget, FollowsTheElementAndTheRow) {
  RandomCase c(DType::kFloat32, {2, 1000}, 2, identity);
  for (std::size_t i = 1000; i < 2000; ++i) {
    c.exact[i] *= 0x1p-20;
    for (auto& p : c.perturbed) p[i] *= 0x1p-20;
  }
  c.trusted = c.stored(c.exact);
  InstanceBudget budget = c.budget().value();
  std::vector<double> large(1000), small(1000);
  budget.budgets(0, large);
  budget.budgets(1000, small);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_GE(large[i], 4 * 0x1p-23 * std::abs(c.exact[i]));
    EXPECT_LE(large[i], 32 * 0x1p-23 * (std::abs(c.exact[i]) + 1));
    EXPECT_LE(small[i], 32 * 0x1p-43 *
                            (std::abs(c.exact[i + 1000]) * 0x1p20 +
                             1));  // the other row's size counts for nothing
  }
}

// A softmax with one huge logit moves by subnormal amounts only: its row says nothing about
// columns.
TEST(Budget, RowsThatHardlyMoveDoNotSpoilColumns) {
  RandomCase c(DType::kFloat32, {16, 100}, 2, identity);
  for (std::size_t i = 0; i < 100; ++i) {
    c.exact[i] = i == 0 ? 1 : 0;
    for (auto& moved : c.perturbed) moved[i] = i == 1 ? 1e-318 : c.exact[i];
  }
  c.trusted = c.stored(c.exact);
  EXPECT_TRUE(check(c, c.exact).passed);
}

TEST(Budget, TermsAreThoseThatTheRunsShow) {
  RandomCase c(DType::kFloat32, {8, 500}, 3, identity);
  auto terms = [&] {
    return InstanceBudget::make({c.dtype, c.shape, 500},
                                {c.exact, c.view(c.trusted), {c.perturbed[0], c.perturbed[1]}})
        .value()
        .terms();
  };
  EXPECT_EQ(terms(), 1);  // one input behind each element, whatever the caller says
  Rng rng(5);
  for (std::size_t i = 0; i < c.exact.size(); ++i) {
    for (auto& p : c.perturbed) p[i] = c.exact[i] + 1e-6 * rng.normal();
  }
  EXPECT_EQ(terms(), 500);
}

TEST(Check, AcceptsRoundingAndRefusesLowerPrecision) {
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    RandomCase c(dtype, {16, 300}, 4, [](double x) { return std::exp(x); });
    EXPECT_TRUE(check(c, c.exact).passed) << tensor::to_string(dtype);
    std::vector<double> lower = c.exact;
    DType below = dtype == DType::kFloat16 ? DType::kBFloat16 : *tensor::next_lower(dtype);
    for (double& v : lower) v = static_cast<double>(round_to(below, static_cast<float>(v)));
    CheckReport report = check(c, lower);
    EXPECT_FALSE(report.passed) << tensor::to_string(dtype);
    EXPECT_GT(report.max_of_budget, 1);
  }
}

TEST(Check, OneWrongElementIsEnough) {
  RandomCase c(DType::kFloat32, {16, 300}, 5, identity);
  for (double wrong : {0.0, std::nan(""), kInfinity, -kInfinity, 1e30}) {
    std::vector<double> values = c.exact;
    values[4321] = wrong;
    CheckReport report = check(c, values);
    EXPECT_FALSE(report.passed) << wrong;
    EXPECT_EQ(report.wrong, 1U);
    EXPECT_EQ(report.nan, std::isnan(wrong) ? 1U : 0U);
    EXPECT_EQ(report.infinite, std::isinf(wrong) ? 1U : 0U);
  }
}

TEST(Check, MeasuresAreThoseOfTheWorstElement) {
  RandomCase c(DType::kFloat32, {16, 300}, 6, identity);
  std::vector<double> values = c.exact;
  values[17] += 0.5;
  CheckReport report = check(c, values);
  EXPECT_NEAR(report.max_absolute, 0.5, 1e-6);
  EXPECT_NEAR(report.max_relative, 0.5 / (std::abs(c.exact[17]) + 1e-8), 1e-3);
  double budget = 0;
  InstanceBudget made = c.budget().value();
  made.budgets(17, std::span(&budget, 1));
  EXPECT_NEAR(report.max_of_budget, 0.5 / budget, 1e-3 * 0.5 / budget);
}

TEST(Check, InfinitiesPassWhereTrustedAndExactOverflowAlike) {
  RandomCase c(DType::kFloat16, {4, 50}, 7, identity);
  c.exact[3] = 70000;  // float16 ends at 65504
  c.exact[4] = -kInfinity;
  for (auto& p : c.perturbed) p[3] = 70100, p[4] = -kInfinity;
  c.trusted = c.stored(c.exact);
  EXPECT_TRUE(check(c, c.exact).passed);
  auto with = [&](std::size_t i, double value) {
    std::vector<double> values = c.exact;
    values[i] = value;
    return check(c, values).passed;
  };
  EXPECT_FALSE(with(3, -kInfinity));
  EXPECT_FALSE(with(4, kInfinity));
  EXPECT_FALSE(with(4, -65504));
  EXPECT_FALSE(with(3, 0));
  EXPECT_FALSE(with(5, kInfinity));
  // The trusted run overflowed on its way and float64 did not: the float64 value counts.
  std::vector<double> trusted = c.exact;
  trusted[9] = kInfinity;
  c.trusted = c.stored(trusted);
  EXPECT_TRUE(check(c, c.exact).passed);
  EXPECT_FALSE(with(9, kInfinity));
}

TEST(Check, BiasAndClustersWithinBudgetFail) {
  RandomCase c(DType::kFloat32, {64, 256}, 8, identity);
  InstanceBudget budget = c.budget().value();
  std::vector<double> scale(c.exact.size());
  for (std::size_t r = 0; r < 64; ++r)
    budget.budgets(r * 256, std::span(scale).subspan(r * 256, 256));
  auto moved = [&](auto share) {
    std::vector<double> values = c.exact;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += share(i) * scale[i];
    return check(c, values);
  };
  CheckReport biased = moved([](std::size_t) { return 0.7; });
  EXPECT_EQ(biased.wrong, 0U);
  EXPECT_TRUE(biased.biased && !biased.passed);
  CheckReport clustered =
      moved([](std::size_t i) { return i / 64 == 30 ? (i % 2 == 0 ? 0.85 : -0.85) : 0.0; });
  EXPECT_EQ(clustered.wrong, 0U);
  EXPECT_TRUE(clustered.clustered && !clustered.biased && !clustered.passed);
  Rng rng(1);
  CheckReport honest =
      moved([&](std::size_t) { return std::min(0.9, std::max(-0.9, 0.25 * rng.normal())); });
  EXPECT_TRUE(honest.passed) << honest.bias << " " << honest.worst_tile;
}

TEST(Check, RecordKeepsMaximaAndCounts) {
  task::OutputError error;
  CheckReport a, b;
  a.max_absolute = 2, b.max_absolute = 1, b.max_of_budget = 0.5;
  record(a, error);
  record(b, error);
  EXPECT_EQ(error.max_absolute, 2);
  EXPECT_EQ(error.max_of_budget, 0.5);
  EXPECT_EQ(error.checked_calls, 2);
  a.merge(b);
  EXPECT_EQ(a.max_of_budget, 0.5);
}

TEST(Exact, WholeNumbersOfEveryDtype) {
  auto passes = [](auto ours, std::int64_t expected, DType dtype) {
    Shape shape = {1};
    std::vector<std::int64_t> want = {expected};
    return check_exact({dtype, shape, std::as_bytes(std::span(&ours, 1))}, want).passed;
  };
  EXPECT_TRUE(passes(std::int64_t{-5}, -5, DType::kInt64));
  EXPECT_TRUE(passes(std::int32_t{-5}, -5, DType::kInt32));
  EXPECT_TRUE(passes(std::int16_t{-5}, -5, DType::kInt16));
  EXPECT_TRUE(passes(std::int8_t{-5}, -5, DType::kInt8));
  EXPECT_TRUE(passes(std::uint8_t{251}, 251, DType::kUInt8));
  EXPECT_FALSE(passes(std::int32_t{-4}, -5, DType::kInt32));
  EXPECT_FALSE(passes(std::int64_t{(1LL << 53) + 1}, 1LL << 53, DType::kInt64));
}

TEST(Exact, BooleanBytesAreZeroOrOne) {
  Shape shape = {3};
  std::vector<std::int64_t> want = {0, 1, 1};
  auto passes = [&](std::vector<std::uint8_t> bytes) {
    return check_exact({DType::kBool, shape, std::as_bytes(std::span(bytes))}, want).passed;
  };
  EXPECT_TRUE(passes({0, 1, 1}));
  EXPECT_FALSE(passes({0, 1, 255}));
  EXPECT_FALSE(passes({0, 0, 1}));
  std::vector<std::uint8_t> twos = {0, 2, 1};
  EXPECT_FALSE(check_exact({DType::kBool, shape, std::as_bytes(std::span(twos))},
                           {DType::kBool, shape, std::as_bytes(std::span(twos))})
                   .passed);
}

TEST(Exact, WhatAPerturbedRunGivesIsAsRight) {
  Shape shape = {3};
  const std::vector<std::int64_t> want = {4, 7, 1}, moved = {4, 9, 1};
  const std::vector<std::span<const std::int64_t>> runs = {want, moved};
  auto wrong = [&](std::vector<std::int32_t> ours) {
    return check_exact({DType::kInt32, shape, std::as_bytes(std::span(ours))}, want, runs).wrong;
  };
  EXPECT_EQ(wrong({4, 7, 1}), 0U);
  EXPECT_EQ(wrong({4, 9, 1}), 0U);
  EXPECT_EQ(wrong({4, 8, 1}), 1U);  // what lies between them is not
  EXPECT_EQ(wrong({9, 4, 1}), 2U);
}

TEST(Exact, FloatsBitForBitButForTheSignOfZero) {
  Shape shape = {2};
  auto passes = [&](std::vector<float> ours, std::vector<float> theirs) {
    return check_exact({DType::kFloat32, shape, std::as_bytes(std::span(ours))},
                       {DType::kFloat32, shape, std::as_bytes(std::span(theirs))})
        .passed;
  };
  EXPECT_TRUE(passes({1, -0.0F}, {1, 0}));
  EXPECT_FALSE(passes({1, 0}, {std::nextafter(1.0F, 2.0F), 0}));
  EXPECT_FALSE(passes({std::nanf(""), 0}, {std::nanf(""), 0}));
}

}  // namespace
}  // namespace kw::gym
