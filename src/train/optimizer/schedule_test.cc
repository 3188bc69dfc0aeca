#include "train/optimizer/schedule.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kw::train {
namespace {

TEST(Schedule, WarmsUpByStepsFromTheFirst) {
  const ScheduleSettings s{.kind = "constant", .warmup = 0.1};
  EXPECT_NEAR(rate_factor(s, 0, 0.02), 0.2, 1e-12);
  EXPECT_NEAR(rate_factor(s, 0.04, 0.02), 0.6, 1e-12);
  EXPECT_NEAR(rate_factor(s, 0.08, 0.02), 1, 1e-12);
  EXPECT_NEAR(rate_factor(s, 0.5, 0.02), 1, 1e-12);
  EXPECT_NEAR(rate_factor(s, 0.05, 0), 0.5, 1e-12);  // by time
}

TEST(Schedule, Shapes) {
  EXPECT_NEAR(rate_factor({.kind = "linear", .warmup = 0.2}, 0.6, 0), 0.5, 1e-12);
  EXPECT_NEAR(rate_factor({.kind = "cosine", .warmup = 0}, 0.25, 0), (1 + std::sqrt(0.5)) / 2,
              1e-12);
  EXPECT_NEAR(rate_factor({.kind = "cosine", .warmup = 0, .floor = 0.1}, 1, 0), 0.1, 1e-12);
  const ScheduleSettings wsd{.kind = "wsd", .warmup = 0, .decay = 0.4};
  EXPECT_NEAR(rate_factor(wsd, 0.6, 0), 1, 1e-12);
  EXPECT_NEAR(rate_factor(wsd, 0.9, 0), 0.25, 1e-12);
}

TEST(Schedule, SettingsAreChecked) {
  EXPECT_TRUE(check(ScheduleSettings{}));
  EXPECT_FALSE(check(ScheduleSettings{.kind = "cos"}));
  EXPECT_FALSE(check(ScheduleSettings{.warmup = 2}));
  EXPECT_FALSE(check(ScheduleSettings{.kind = "wsd", .warmup = 0.7, .decay = 0.7}));
}

}  // namespace
}  // namespace kw::train
