#include "base/backoff.h"

#include <chrono>
#include <limits>

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Backoff, DoublesUpToTheLimit) {
  EXPECT_EQ(doubled_delay(1.0, 1, 60.0), 1.0);
  EXPECT_EQ(doubled_delay(1.0, 6, 60.0), 32.0);
  EXPECT_EQ(doubled_delay(1.0, 7, 60.0), 60.0);
  EXPECT_EQ(doubled_delay(1.0, std::numeric_limits<int>::max(), 60.0), 60.0);
  using std::chrono::milliseconds;
  EXPECT_EQ(doubled_delay(milliseconds(250), 3, milliseconds(8000)), milliseconds(1000));
}

TEST(Backoff, AFirstDelayAboveTheLimitStays) {
  EXPECT_EQ(doubled_delay(300.0, 1, 60.0), 300.0);
  EXPECT_EQ(doubled_delay(300.0, 5, 60.0), 300.0);
}

TEST(RetryPolicy, LimitsTriesAndDelays) {
  using std::chrono::milliseconds;
  const RetryPolicy policy{.tries = 3, .first_delay = milliseconds(500)};
  EXPECT_TRUE(policy.has_try_after(2));
  EXPECT_FALSE(policy.has_try_after(3));
  EXPECT_EQ(policy.delay(1), milliseconds(500));
  EXPECT_EQ(policy.delay(2), milliseconds(1000));
  EXPECT_EQ(policy.delay(100), std::chrono::seconds(60));
}

}  // namespace
}  // namespace kw
