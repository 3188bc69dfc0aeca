// Tests of the fast check against the baseline: the same verdicts as a plain double loop, in every
// dtype.
#include "gym/correctness/baseline.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gym/correctness/testing/random_case.h"
#include "gym/inputs/stream.h"

namespace kw::gym {
namespace {

using tensor::DType;
using testing::RandomCase;
using Shape = std::vector<std::int64_t>;

BaselineCoefficients learned(DType dtype, const Shape& shape, double (*f)(double)) {
  std::vector<std::unique_ptr<RandomCase>> cases;
  std::vector<InstanceBudget> budgets;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    cases.push_back(std::make_unique<RandomCase>(dtype, shape, seed, f));
    budgets.push_back(cases.back()->budget().value());
  }
  return learn_baseline(budgets).value();
}

TEST(Baseline, NeedsThreeSeeds) {
  RandomCase c(DType::kFloat32, {4, 64}, 1, [](double x) { return x; });
  std::vector<InstanceBudget> budgets = {c.budget().value(), c.budget().value()};
  EXPECT_FALSE(learn_baseline(budgets));
}

TEST(Baseline, AcceptsRoundingOnFreshInputsAndRefusesLowerPrecision) {
  auto f = [](double x) { return std::exp(x) - 1; };
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    BaselineCoefficients coefficients = learned(dtype, {16, 300}, f);
    RandomCase fresh(dtype, {16, 300}, 77, f);
    std::vector<double> other = fresh.exact, lower = fresh.exact;
    for (std::size_t i = 0; i < other.size(); ++i) {
      other[i] *= 1 + (i % 2 == 0 ? 1 : -1) * tensor::epsilon_of(dtype);
      DType below = *tensor::next_lower(dtype);
      double moved = f(static_cast<double>(round_to(below, fresh.inputs[i])));
      lower[i] = static_cast<double>(round_to(below, static_cast<float>(moved)));
    }
    std::vector<std::byte> ours = fresh.stored(other), bad = fresh.stored(lower);
    EXPECT_TRUE(
        check_against_baseline(fresh.view(ours), fresh.view(fresh.trusted), coefficients).passed)
        << tensor::to_string(dtype);
    EXPECT_TRUE(
        check_against_baseline(fresh.view(fresh.trusted), fresh.view(fresh.trusted), coefficients)
            .passed);
    CheckReport report =
        check_against_baseline(fresh.view(bad), fresh.view(fresh.trusted), coefficients);
    EXPECT_FALSE(report.passed) << tensor::to_string(dtype) << " " << report.max_of_budget;
  }
}

TEST(Baseline, PolesAreJudgedByMagnitude) {
  auto f = [](double x) { return 1 / x; };
  BaselineCoefficients coefficients = learned(DType::kFloat32, {64, 512}, f);
  RandomCase fresh(DType::kFloat32, {64, 512}, 5, f);
  std::vector<float> ours;
  for (float x : fresh.inputs) ours.push_back(1 / (x * (1 + 0x1p-24F)));
  EXPECT_TRUE(check_against_baseline({DType::kFloat32, fresh.shape, std::as_bytes(std::span(ours))},
                                     fresh.view(fresh.trusted), coefficients)
                  .passed);
}

// The vectorised pass must find a single wrong element at every place in a chunk.
TEST(Baseline, FindsEverySingleWrongElement) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    Shape shape = {5, 1111};
    std::vector<float> values(std::size_t{5} * 1111);
    Stream(1).normal(values);
    std::vector<std::byte> theirs(values.size() * tensor::size_of(dtype));
    store(dtype, values, 0, theirs);
    BaselineCoefficients coefficients;
    coefficients.relative = 4 * tensor::epsilon_of(dtype);
    coefficients.slice = tensor::epsilon_of(dtype);
    std::size_t size = tensor::size_of(dtype);
    for (std::size_t i = 0; i < values.size(); i += 37) {
      std::vector<std::byte> ours = theirs;
      for (float wrong :
           {values[i] + 1.5F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
        store(dtype, std::span(&wrong, 1), i, ours);
        CheckReport report =
            check_against_baseline({dtype, shape, ours}, {dtype, shape, theirs}, coefficients);
        ASSERT_EQ(report.wrong, 1U) << i << " " << wrong;
        ASSERT_FALSE(report.passed);
        ASSERT_EQ(report.nan + report.infinite, std::isfinite(wrong) ? 0U : 1U);
      }
      std::memcpy(ours.data() + i * size, theirs.data() + i * size, size);
    }
  }
}

TEST(Baseline, MeasuresAgreeWithAPlainLoop) {
  Shape shape = {40, 1500};
  std::vector<float> b(60000), noise(60000), a(60000);
  Stream(2).normal(b);
  Stream(3).normal(noise);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] + 1e-5F * noise[i];
  BaselineCoefficients coefficients;
  coefficients.relative = 1e-5, coefficients.slice = 3e-5;
  CheckReport report =
      check_against_baseline({DType::kFloat32, shape, std::as_bytes(std::span(a))},
                             {DType::kFloat32, shape, std::as_bytes(std::span(b))}, coefficients);
  double absolute = 0, relative = 0, of_budget = 0;
  std::uint64_t wrong = 0;
  for (std::size_t r = 0; r < 40; ++r) {
    double magnitude = 0;
    for (std::size_t i = r * 1500; i < (r + 1) * 1500; ++i)
      magnitude += std::abs(static_cast<double>(b[i]));
    for (std::size_t i = r * 1500; i < (r + 1) * 1500; ++i) {
      double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])),
             y = std::abs(static_cast<double>(b[i]));
      double share = d / (2 * (1e-5 * y + 3e-5 * magnitude / 1500));
      absolute = std::max(absolute, d), relative = std::max(relative, d / (y + 1e-8)),
      of_budget = std::max(of_budget, share);
      wrong += share > 1 ? 1 : 0;
    }
  }
  EXPECT_NEAR(report.max_absolute, absolute, 1e-4 * absolute);
  EXPECT_NEAR(report.max_relative, relative, 1e-4 * relative);
  EXPECT_NEAR(report.max_of_budget, of_budget, 1e-4 * of_budget);
  EXPECT_EQ(report.wrong, wrong);
}

TEST(Baseline, EqualInfinitiesPassAndHugeRowsDoNotOverflow) {
  Shape shape = {1, 64};
  std::vector<float> b(64, 3e30F);
  b[5] = std::numeric_limits<float>::infinity();
  std::vector<float> a = b;
  a[7] *= 1 + 0x1p-22F;
  BaselineCoefficients coefficients;
  coefficients.relative = 4 * 0x1p-23;
  auto passes = [&] {
    return check_against_baseline({DType::kFloat32, shape, std::as_bytes(std::span(a))},
                                  {DType::kFloat32, shape, std::as_bytes(std::span(b))},
                                  coefficients)
        .passed;
  };
  EXPECT_TRUE(passes());
  a[7] = 2e30F;
  EXPECT_FALSE(passes());
  a[7] = b[7];
  a[5] = -a[5];
  EXPECT_FALSE(passes());
}

}  // namespace
}  // namespace kw::gym
