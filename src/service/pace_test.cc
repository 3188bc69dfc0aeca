#include "service/pace.h"

#include <gtest/gtest.h>

namespace kw::service {
namespace {

using std::chrono::seconds;

TEST(Pace, AStartIsWhenTheWorkBeforeItHasBegun) {
  const Pace pace{.task = seconds(6), .slots = 3};
  EXPECT_DOUBLE_EQ(pace.seconds_until_start(seconds(0)), 1);
  EXPECT_DOUBLE_EQ(pace.seconds_until_start(seconds(60)), 21);
}

TEST(Pace, ACallerComesAgainWhenThereIsRoom) {
  const Pace pace{.task = seconds(6), .slots = 3};
  EXPECT_EQ(retry_after(std::nullopt, 100), RetryAfter::kUnknown);
  EXPECT_EQ(retry_after(pace, 10), seconds(20));
  EXPECT_EQ(retry_after(pace, 10, 0.25), seconds(80));
  EXPECT_EQ(retry_after(Pace{.task = std::chrono::milliseconds(10), .slots = 3}, 1),
            RetryAfter::kMin);
  EXPECT_EQ(retry_after(pace, 1000000), RetryAfter::kMax);
}

TEST(Pace, BytesAreTasksOfTheMeanSize) {
  EXPECT_EQ(tasks_of_bytes(100, 1000, 10), 1U);
  EXPECT_EQ(tasks_of_bytes(101, 1000, 10), 2U);
  EXPECT_EQ(tasks_of_bytes(5, 0, 0), 1U);
}

}  // namespace
}  // namespace kw::service
