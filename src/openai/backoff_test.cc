// Delays before retries.
#include "openai/backoff.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace kw::openai {
namespace {

using std::chrono::milliseconds;

Backoff backoff_of(milliseconds first, milliseconds most, std::uint64_t seed) {
  return Backoff({.first_delay = first, .max_delay = most}, seed);
}

TEST(Backoff, FullJitterBelowAnExponentialCeiling) {
  Backoff backoff = backoff_of(milliseconds(100), milliseconds(1000), 7);
  for (int failures = 1; failures <= 12; ++failures) {
    const std::int64_t ceiling = std::min(1000, 100 << std::min(failures - 1, 4));
    double sum = 0;
    std::int64_t least = ceiling, most = 0;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) {
      const std::int64_t delay = backoff.delay(failures).count();
      ASSERT_GE(delay, 0);
      ASSERT_LE(delay, ceiling);
      least = std::min(least, delay);
      most = std::max(most, delay);
      sum += static_cast<double>(delay);
    }
    // Uniform: the mean of 4,000 draws is within 5 standard errors of the middle.
    const auto width = static_cast<double>(ceiling);
    EXPECT_NEAR(sum / kDraws, width / 2, 5 * width / std::sqrt(12.0 * kDraws)) << failures;
    EXPECT_LT(least, ceiling / 20);
    EXPECT_GT(most, ceiling - ceiling / 20);
  }
}

TEST(Backoff, TheSeedDecides) {
  Backoff a = backoff_of(milliseconds(500), milliseconds(30000), 1);
  Backoff b = backoff_of(milliseconds(500), milliseconds(30000), 1);
  Backoff c = backoff_of(milliseconds(500), milliseconds(30000), 2);
  int equal = 0;
  for (int i = 1; i < 40; ++i) {
    const milliseconds delay = a.delay(i);
    EXPECT_EQ(delay, b.delay(i));
    equal += delay == c.delay(i) ? 1 : 0;
  }
  EXPECT_LT(equal, 5);
}

TEST(Backoff, HugeCountsDoNotOverflow) {
  Backoff backoff = backoff_of(milliseconds(1), milliseconds(30000), 1);
  EXPECT_LE(backoff.delay(1'000'000'000), milliseconds(30000));
  Backoff none = backoff_of(milliseconds(0), milliseconds(30000), 1);
  EXPECT_EQ(none.delay(5), milliseconds(0));
}

}  // namespace
}  // namespace kw::openai
