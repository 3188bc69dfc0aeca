// Sums that one term dominates: losing the small ones is honest, rounding the large one is not.
// Plateaus: rounding may take an element over the edge. Elementary functions of a vector library's
// accuracy, where their values cancel.
#include "gym/correctness/budget.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::gym {
namespace {

constexpr std::size_t kSums = 64, kTerms = 2048;
constexpr float kSpike = 1e4F;

float to_bfloat16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x8000U) & 0xffff0000U;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Sums of squares of rows that begin with a spike.
struct SpikedSums {
  std::vector<float> x = std::vector<float>(kSums * kTerms);
  std::vector<double> exact, moved, moved_again;
  std::vector<float> trusted;

  SpikedSums() {
    Rng rng(7);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = (i % kTerms == 0 ? kSpike : 1.0F) * static_cast<float>(rng.uniform() + 0.5);
    for (std::size_t r = 0; r < kSums; ++r) {
      exact.push_back(sum(r, 0, rng));
      moved.push_back(sum(r, 0x1p-23, rng));
      moved_again.push_back(sum(r, 0x1p-23, rng));
      trusted.push_back(static_cast<float>(exact.back()));
    }
  }
  double sum(std::size_t row, double step, Rng& rng) const {
    double total = 0;
    for (std::size_t i = 0; i < kTerms; ++i) {
      double value = x[row * kTerms + i] * (1 + ((rng.next() & 1U) != 0 ? step : -step));
      total += value * value;
    }
    return total;
  }
  // One after the other; round: of every term.
  template <typename Round>
  float naive(std::size_t row, Round round) const {
    float total = 0;
    for (std::size_t i = 0; i < kTerms; ++i) {
      float value = round(x[row * kTerms + i]);
      total += value * value;
    }
    return total;
  }
  // Rows whose error is within the budget.
  template <typename Round>
  std::size_t within(bool uneven, Round round) const {
    const std::vector<std::int64_t> shape = {kSums};
    OracleRun run{exact,
                  {tensor::DType::kFloat32, shape, std::as_bytes(std::span(trusted))},
                  {moved, moved_again}};
    auto budget =
        InstanceBudget::make({tensor::DType::kFloat32, shape, kTerms, uneven}, std::move(run));
    EXPECT_TRUE(budget) << budget.error().message();
    std::vector<double> allowed(kSums);
    budget->budgets(0, allowed);
    std::size_t count = 0;
    for (std::size_t r = 0; r < kSums; ++r)
      count += std::abs(static_cast<double>(naive(r, round)) - exact[r]) <= allowed[r] ? 1 : 0;
    return count;
  }
};

TEST(UnevenBudget, LosingSmallTermsIsHonest) {
  SpikedSums sums;
  auto as_it_is = [](float value) { return value; };
  EXPECT_EQ(sums.within(true, as_it_is), kSums);
  // Two runs that one spike moves say that one term stands behind the sum.
  EXPECT_LT(sums.within(false, as_it_is), kSums / 2);
}

TEST(UnevenBudget, RoundingTheLargeTermIsNot) {
  EXPECT_LT(SpikedSums().within(true, to_bfloat16), kSums / 4);
}

// relu: the first row is all below zero, the others are not. One element of the first row comes out
// as what rounding makes of a pre-activation just below zero.
bool allows_on_plateau(float value) {
  constexpr std::size_t kWide = 32;
  const std::vector<std::int64_t> shape = {8, kWide};
  std::vector<double> exact(8 * kWide, 0), moved = exact;
  std::vector<float> trusted(8 * kWide, 0);
  for (std::size_t i = kWide; i < exact.size(); ++i) {
    exact[i] = 1 + static_cast<double>(i) / 64;
    moved[i] = exact[i] * (1 + ((i % 3 == 0) ? 0x1p-23 : -0x1p-23));
    trusted[i] = static_cast<float>(exact[i]);
  }
  OracleRun run{
      exact, {tensor::DType::kFloat32, shape, std::as_bytes(std::span(trusted))}, {moved, moved}};
  auto budget = InstanceBudget::make({tensor::DType::kFloat32, shape, 64}, std::move(run));
  EXPECT_TRUE(budget) << budget.error().message();
  std::vector<double> allowed(kWide);
  budget->budgets(0, allowed);
  return static_cast<double>(value) <= allowed[5];
}

// Both runs move each element alike, as one input behind each would.
double terms_where_runs_agree(bool is_rounded) {
  constexpr std::size_t kElements = 64;
  const std::vector<std::int64_t> shape = {kElements};
  const std::vector<double> exact(kElements, 1), moved(kElements, 1 + 0x1p-23);
  const std::vector<float> trusted(kElements, 1);
  OracleRun run{exact,
                {tensor::DType::kFloat32, shape, std::as_bytes(std::span(trusted))},
                {moved, moved},
                is_rounded};
  auto budget = InstanceBudget::make({tensor::DType::kFloat32, shape, 100}, std::move(run));
  EXPECT_TRUE(budget) << budget.error().message();
  return budget->terms();
}

TEST(Terms, RunsThatRoundDoNotTellThem) {
  EXPECT_EQ(terms_where_runs_agree(false), 0);
  EXPECT_EQ(terms_where_runs_agree(true), 100);
}

TEST(PlateauBudget, RoundingMayCrossTheEdge) {
  EXPECT_TRUE(allows_on_plateau(3e-7F));
  EXPECT_FALSE(allows_on_plateau(1e-3F));
}

// gelu with exact roundings beside it: as far as the best library gets.
struct Gelu {
  static constexpr std::size_t kRows = 16, kColumns = 1024;
  std::vector<float> x = std::vector<float>(kRows * kColumns);
  std::vector<double> exact;
  std::vector<float> trusted;
  std::vector<std::vector<double>> perturbed;

  explicit Gelu(bool move_functions) {
    Rng rng(5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(rng.normal());
      if (i % 64 == 0) x[i] = -4.6F - 0.01F * static_cast<float>(i / 64 % 64);  // tails
      exact.push_back(value(static_cast<double>(x[i]), 0));
      trusted.push_back(static_cast<float>(exact.back()));
    }
    auto step = [&](double scale) { return (rng.next() & 1U) != 0 ? scale : -scale; };
    for (int run = 0; run < 8; ++run) {
      perturbed.emplace_back();
      double functions = 0;
      if (move_functions && run >= 2)
        functions = function_perturbation_for(tensor::DType::kFloat32);
      for (float element : x)
        perturbed.back().push_back(value(element * (1 + step(0x1p-23)), step(functions)));
    }
  }
  static double value(double element, double error) {
    return 0.5 * element * (1 + std::erf(element * std::sqrt(0.5)) * (1 + error));
  }
  // An erf that is off towards zero by so many units in the last place.
  std::size_t beyond_budget(int units) const {
    const std::vector<std::int64_t> shape = {kRows, kColumns};
    OracleRun run{exact, {tensor::DType::kFloat32, shape, std::as_bytes(std::span(trusted))}, {}};
    for (const std::vector<double>& moved : perturbed) run.perturbed.emplace_back(moved);
    auto budget = InstanceBudget::make({tensor::DType::kFloat32, shape, kColumns}, std::move(run));
    EXPECT_TRUE(budget) << budget.error().message();
    EXPECT_EQ(budget->terms(), 1);  // moving functions adds none
    std::size_t count = 0;
    std::vector<double> allowed(kColumns);
    for (std::size_t row = 0; row < kRows; ++row) {
      budget->budgets(row * kColumns, allowed);
      for (std::size_t c = 0; c < kColumns; ++c) {
        std::size_t i = row * kColumns + c;
        float erf = std::erf(x[i] * std::sqrt(0.5F));
        for (int unit = 0; unit < units; ++unit) erf = std::nextafter(erf, 0.0F);
        float ours = 0.5F * x[i] * (1 + erf);
        count += std::abs(static_cast<double>(ours) - exact[i]) > allowed[c] ? 1 : 0;
      }
    }
    return count;
  }
};

TEST(FunctionBudget, FourUnitsInTheLastPlaceAreHonest) {
  EXPECT_EQ(Gelu(true).beyond_budget(4), 0);
  EXPECT_GT(Gelu(false).beyond_budget(4), 0);
}

TEST(FunctionBudget, ManyAreNot) {
  EXPECT_GT(Gelu(true).beyond_budget(32), Gelu::kRows * Gelu::kColumns / 64);
}

// Norms of 0.25 and 0.31 as comparisons chose them: no input moves them. Summed one after the
// other.
TEST(DecidedBudget, NaiveSumsOfWhatComparisonsDecidedAreHonest) {
  constexpr std::size_t kNorms = 32;
  constexpr std::size_t kLong = 1253;
  Rng rng(3);
  std::vector<double> exact;
  std::vector<float> trusted, naive;
  for (std::size_t row = 0; row < kNorms; ++row) {
    double sum = 0;
    float one_by_one = 0;
    for (std::size_t i = 0; i < kLong; ++i) {
      const float value = (rng.next() & 1U) != 0 ? 0.553F : 0.5F;
      sum += static_cast<double>(value) * static_cast<double>(value);
      one_by_one += value * value;
    }
    exact.push_back(std::sqrt(sum) - 1);
    trusted.push_back(static_cast<float>(exact.back()));
    naive.push_back(std::sqrt(one_by_one) - 1);
  }
  const std::vector<std::int64_t> shape = {kNorms};
  OracleRun run{
      exact, {tensor::DType::kFloat32, shape, std::as_bytes(std::span(trusted))}, {exact, exact}};
  auto budget = InstanceBudget::make({tensor::DType::kFloat32, shape, kLong}, std::move(run));
  ASSERT_TRUE(budget) << budget.error().message();
  EXPECT_EQ(budget->terms(), kLong);
  std::vector<double> allowed(kNorms);
  budget->budgets(0, allowed);
  std::size_t beyond_four_eps = 0;
  for (std::size_t row = 0; row < kNorms; ++row) {
    const double error = std::abs(static_cast<double>(naive[row]) - exact[row]);
    EXPECT_LE(error, allowed[row]);
    EXPECT_LT(allowed[row], 1e-4 * exact[row]);
    beyond_four_eps += error > 4 * 0x1p-23 * exact[row] ? 1 : 0;
  }
  EXPECT_GT(beyond_four_eps, 0);  // what it is for
}

}  // namespace
}  // namespace kw::gym
