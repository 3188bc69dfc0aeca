#include "search/retry_schedule.h"

#include <gtest/gtest.h>

namespace kw::search {
namespace {

RetrySchedule schedule(int tries, double first_seconds) {
  return {{.tries = tries, .first_delay = RetryPolicy::Delay(first_seconds)}, 7};
}

TEST(RetrySchedule, PausesDoubleUpToAMost) {
  const RetrySchedule retries = schedule(100, 1);
  for (int made = 1; made < 100; ++made) {
    const double whole = made < 7 ? 1 << (made - 1) : 60;
    const double pause = retries.pause("p", 0, made);
    EXPECT_GE(pause, whole / 2) << made;
    EXPECT_LE(pause, whole) << made;
  }
  EXPECT_NE(retries.pause("p", 0, 1), retries.pause("p", 1, 1));  // not all come back together
  EXPECT_EQ(retries.pause("p", 0, 1), retries.pause("p", 0, 1));
  EXPECT_GE(schedule(2, 300).pause("p", 0, 1), 150);  // the first is what was asked for
  EXPECT_EQ(schedule(2, 0).pause("p", 0, 1), 0);
}

TEST(RetrySchedule, AsManyAsTriesSay) {
  const RetrySchedule retries = schedule(3, 1);
  EXPECT_TRUE(retries.more_after(2));
  EXPECT_FALSE(retries.more_after(3));
}

}  // namespace
}  // namespace kw::search
