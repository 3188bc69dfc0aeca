// Rates by a clock of the test's own.
#include "openai/rate_limiter.h"

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "openai/testing/fake_clock.h"

namespace kw::openai {
namespace {

using std::chrono::seconds;
using testing::FakeClock;
using ::testing::HasSubstr;
using testing::seconds_of;

Clock::Time far(FakeClock& clock) {
  return clock.now() + std::chrono::hours(10);
}

TEST(RateLimiter, RequestsAMinute) {
  FakeClock clock;
  RateLimiter limiter({60, 0, seconds(5)}, clock);
  const auto begin = clock.now();
  for (int i = 0; i < 65; ++i) ASSERT_TRUE(limiter.acquire(1000, far(clock), {}));
  // Five at once, then one a second.
  EXPECT_NEAR(seconds_of(clock.now() - begin), 60, 1e-6);
}

TEST(RateLimiter, NeverMoreThanRateAndBurst) {
  FakeClock clock;
  RateLimiter limiter({600, 0, seconds(2)}, clock);
  std::vector<double> at;
  const auto begin = clock.now();
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(limiter.acquire(1, far(clock), {}));
    at.push_back(seconds_of(clock.now() - begin));
    if (i % 7 == 0) clock.advance(std::chrono::milliseconds(i));
  }
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t j = i + 1; j < at.size(); ++j)
      ASSERT_LE(static_cast<double>(j - i + 1), 20 + 10 * (at[j] - at[i]) + 1 + 1e-6);
}

TEST(RateLimiter, TokensAMinuteAndWhatWasNotUsed) {
  FakeClock clock;
  RateLimiter limiter({0, 6000, seconds(10)}, clock);  // 100 a second, 1,000 at once
  const auto begin = clock.now();
  ASSERT_TRUE(limiter.acquire(1000, far(clock), {}));
  EXPECT_EQ(clock.now(), begin);
  limiter.settle(1000, 100);
  ASSERT_TRUE(limiter.acquire(900, far(clock), {}));
  EXPECT_EQ(clock.now(), begin);
  limiter.settle(900, 1100);  // more than was estimated: the next one pays
  ASSERT_TRUE(limiter.acquire(100, far(clock), {}));
  EXPECT_NEAR(seconds_of(clock.now() - begin), 3, 1e-6);
}

TEST(RateLimiter, MoreThanTheBucketHolds) {
  FakeClock clock;
  RateLimiter limiter({0, 6000, seconds(1)}, clock);
  const auto begin = clock.now();
  ASSERT_TRUE(limiter.acquire(1100, far(clock), {}));
  EXPECT_NEAR(seconds_of(clock.now() - begin), 10, 1e-6);
}

TEST(RateLimiter, ADeadlineThatCannotBeMetIsSaidAtOnceAndTakesNothing) {
  FakeClock clock;
  RateLimiter limiter({60, 0, seconds(0)}, clock);
  ASSERT_TRUE(limiter.acquire(1, far(clock), {}));
  const auto begin = clock.now();
  for (int i = 0; i < 5; ++i) {
    Status late = limiter.acquire(1, begin + std::chrono::milliseconds(500), {});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), ErrorCode::kDeadlineExceeded);
    EXPECT_THAT(late.error().message(), HasSubstr("rate limits"));
  }
  EXPECT_EQ(clock.now(), begin);
  ASSERT_TRUE(limiter.acquire(1, far(clock), {}));
  EXPECT_NEAR(seconds_of(clock.now() - begin), 1, 1e-6);
}

TEST(RateLimiter, APauseHoldsAllAndIsKeptTo) {
  FakeClock clock;
  RateLimiter limiter({}, clock);
  const auto begin = clock.now();
  limiter.pause_until(begin + seconds(30));
  limiter.pause_until(begin + seconds(10));  // the later one counts
  EXPECT_FALSE(limiter.try_acquire(1));
  Status late = limiter.acquire(1, begin + seconds(20), {});
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message(), HasSubstr("Retry-After"));
  ASSERT_TRUE(limiter.acquire(1, far(clock), {}));
  EXPECT_EQ(clock.now(), begin + seconds(30));
  EXPECT_TRUE(limiter.try_acquire(1));
}

TEST(RateLimiter, TryTakesNothingWhenThereIsNoRoom) {
  FakeClock clock;
  RateLimiter limiter({60, 0, seconds(0)}, clock);
  EXPECT_TRUE(limiter.try_acquire(1));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(limiter.try_acquire(1));
  clock.advance(seconds(1));
  EXPECT_TRUE(limiter.try_acquire(1));
}

TEST(RateLimiter, StopEndsAWait) {
  RateLimiter limiter({1, 0, seconds(0)}, system_clock());
  ASSERT_TRUE(limiter.acquire(1, system_clock().now() + seconds(100), {}));
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  Status waited = limiter.acquire(1, system_clock().now() + seconds(100), stop.get_token());
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), ErrorCode::kCancelled);
}

TEST(RateLimiter, ManyThreadsShareTheRate) {
  FakeClock clock;
  RateLimiter limiter({6000, 0, seconds(1)}, clock);
  const auto begin = clock.now();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 125; ++i)
          EXPECT_TRUE(limiter.acquire(1, begin + std::chrono::hours(10), {}));
      });
  }
  EXPECT_NEAR(seconds_of(clock.now() - begin), 9, 0.02);
}

}  // namespace
}  // namespace kw::openai
