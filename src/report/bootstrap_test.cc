// Intervals: coverage on simulated runs, exact ends, and what cannot be said.
#include "report/bootstrap.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::report {
namespace {

Statistic of(const std::vector<double>& values, bool is_share) {
  Statistic out{{}, is_share};
  for (double value : values) out.scores.push_back({value, 1});
  return out;
}

// Share of `trials` samples whose interval holds the true mean.
template <typename Draw>
double coverage(double truth, std::size_t problems, Draw draw, bool is_share) {
  constexpr int kTrials = 600;
  Rng rng(17);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (std::size_t i = 0; i < problems; ++i) values.push_back(draw(rng));
    BootstrapOptions options;
    options.resamples = 600;
    options.seed = rng.next();
    auto interval = bootstrap({of(values, is_share)}, options)[0];
    if (interval && interval->low <= truth && truth <= interval->high) ++held;
  }
  return held / static_cast<double>(kTrials);
}

// 600 trials: the standard error of 0.95 is 0.009. The bootstrap is known to be a little short on
// small and skewed samples.
TEST(Bootstrap, CoversTheTruthOfShares) {
  double held = coverage(0.3, 50, [](Rng& rng) { return rng.uniform() < 0.3 ? 1.0 : 0.0; }, true);
  EXPECT_GT(held, 0.915);
  EXPECT_LT(held, 0.98);
}

TEST(Bootstrap, CoversTheTruthOfLogSpeedups) {
  double held = coverage(0.2, 40, [](Rng& rng) { return 0.2 + 0.5 * rng.normal(); }, false);
  EXPECT_GT(held, 0.915);
  EXPECT_LT(held, 0.98);
}

TEST(Bootstrap, CoversTheTruthOfSkewedValues) {
  double held = coverage(1, 60, [](Rng& rng) { return -std::log(1 - rng.uniform()); }, false);
  EXPECT_GT(held, 0.90);
  EXPECT_LT(held, 0.98);
}

TEST(Bootstrap, CoversTheTruthOfRareSuccesses) {
  double held = coverage(0.02, 50, [](Rng& rng) { return rng.uniform() < 0.02 ? 1.0 : 0.0; }, true);
  EXPECT_GT(held, 0.88);  // exact where nothing was solved; a plain bootstrap holds 64 % here
}

// 1 - 0.025^(1/20): the textbook's upper end of 0 of 20.
TEST(Bootstrap, AllOrNothingIsExact) {
  auto none = bootstrap({of(std::vector<double>(20, 0), true)}, {})[0];
  ASSERT_TRUE(none);
  EXPECT_EQ(none->method, IntervalMethod::kExact);
  EXPECT_EQ(none->low, 0);
  EXPECT_NEAR(none->high, 0.168433, 1e-6);
  auto all = bootstrap({of(std::vector<double>(20, 1), true)}, {})[0];
  ASSERT_TRUE(all);
  EXPECT_NEAR(all->low, 1 - 0.168433, 1e-6);
  EXPECT_EQ(all->high, 1);
}

TEST(Bootstrap, SaysNothingWhereNothingCanBeSaid) {
  EXPECT_FALSE(bootstrap({of({0.7}, false)}, {})[0]);
  EXPECT_FALSE(bootstrap({of({0, 0, 0}, false)}, {})[0]) << "logs of 1x are no share of 0";
  EXPECT_FALSE(bootstrap({Statistic{{{3, 0}, {4, 0}}, false}}, {})[0]);
  EXPECT_FALSE(bootstrap({Statistic{}}, {})[0]);
  EXPECT_TRUE(bootstrap({}, {}).empty());
}

TEST(Bootstrap, WeightsOfZeroAreOutOfTheMean) {
  Statistic some{{{1, 1}, {100, 0}, {2, 1}, {3, 1}}, false};
  EXPECT_DOUBLE_EQ(*weighted_mean(some.scores), 2);
  auto interval = bootstrap({some}, {})[0];
  ASSERT_TRUE(interval);
  EXPECT_GE(interval->low, 1);
  EXPECT_LE(interval->high, 3);
}

TEST(Bootstrap, TheSameSeedGivesTheSameBits) {
  Statistic one = of({0.13, 0.57, 0.21, 0.94, 0.48, 0.05, 0.71, 0.36, 0.82, 0.66}, true);
  BootstrapOptions options;
  auto a = bootstrap({one, one}, options);
  auto b = bootstrap({one}, options);
  EXPECT_EQ(a[0]->low, b[0]->low);
  EXPECT_EQ(a[1]->high, b[0]->high) << "all statistics see the same resamples";
  options.seed = 1;
  EXPECT_NE(bootstrap({one}, options)[0]->low, b[0]->low);
}

TEST(Bootstrap, NormalQuantiles) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normal_quantile(1e-6), -4.753424308822899, 1e-9);
}

}  // namespace
}  // namespace kw::report
