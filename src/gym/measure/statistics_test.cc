// Tests of the statistics against known values and against simulation.
#include "gym/measure/statistics.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw::gym {
namespace {

TEST(Statistics, OrderStatistics) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(quantile({0, 10, 20, 30, 40}, 0.25), 10);
  EXPECT_EQ(quantile({0, 10}, 0.9), 9);
  EXPECT_EQ(median_absolute_deviation(std::vector<double>{1, 1, 2, 2, 4, 6, 9}), 1);
}

TEST(Statistics, BinomialTail) {
  EXPECT_NEAR(binomial_upper_tail(8, 10, 0.5), 56.0 / 1024, 1e-12);
  EXPECT_NEAR(binomial_upper_tail(0, 10, 0.5), 1, 1e-12);
  EXPECT_NEAR(binomial_upper_tail(3, 3, 0.1), 1e-3, 1e-12);
  // Normal approximation far out in a large one: 60 of 1000 at 5 %, z = 1.38 with continuity.
  EXPECT_NEAR(binomial_upper_tail(60, 1000, 0.05), 0.087, 0.006);
}

TEST(Statistics, NormalQuantile) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-9);
  EXPECT_NEAR(normal_quantile(1e-9), -5.997807015, 1e-6);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
}

TEST(SignedRank, ExactSmallCases) {
  // n = 6: P(T+ = 0) = 1 / 64, two-sided 1 / 32: the interval is the whole range of Walsh averages.
  // (Hollander and Wolfe, table A.4)
  std::vector<double> x = {1, 2, 4, 8, 16, 32};
  Interval interval = signed_rank_interval(x, 1.0 / 32 + 1e-9);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 32);
  EXPECT_TRUE(std::isinf(signed_rank_interval(x, 0.03).low));
  // n = 10, alpha = 0.0488: t = 8 Walsh averages are dropped at either end.
  std::vector<double> y = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  interval = signed_rank_interval(y, 0.05);
  EXPECT_EQ(interval.estimate, 4.5);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 7);
}

TEST(SignedRank, CoversAsOftenAsItSays) {
  for (std::size_t n : {10U, 40U, 80U}) {
    Rng rng(n);
    std::int64_t missed = 0, trials = n > 50 ? 600 : 2000;
    for (std::int64_t t = 0; t < trials; ++t) {
      std::vector<double> x(n);
      for (double& v : x) v = rng.normal() / (0.05 + rng.uniform());  // heavy tails
      Interval interval = signed_rank_interval(x, 0.05);
      missed += interval.low > 0 || interval.high < 0 ? 1 : 0;
    }
    EXPECT_GT(binomial_upper_tail(missed, trials, 0.05), 1e-3) << n << ": " << missed;
    EXPECT_GT(binomial_upper_tail(trials - missed, trials, 0.97), 1e-3)
        << n << " is too wide: " << missed;
  }
}

TEST(Autocorrelation, OneForIndependentAndMoreForWanderingSamples) {
  Rng rng(1);
  double independent = 0, wandering = 0;
  for (int t = 0; t < 50; ++t) {
    std::vector<double> x(160), y(160);
    double level = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = rng.normal();
      level = 0.8 * level + 0.6 * rng.normal();
      y[i] = level;
    }
    independent += autocorrelation_factor(x) / 50;
    wandering += autocorrelation_factor(y) / 50;
  }
  EXPECT_LT(independent, 1.1);
  EXPECT_GT(wandering, 4);  // the truth is (1 + 0.8) / (1 - 0.8) = 9
  EXPECT_LT(wandering, 12);
  EXPECT_EQ(autocorrelation_factor(std::vector<double>(10, 1.0)), 1);
}

}  // namespace
}  // namespace kw::gym
