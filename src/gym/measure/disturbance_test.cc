// Tests of dropping disturbed blocks.
#include "gym/measure/disturbance.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using std::chrono::nanoseconds;

Disturbance calm() {
  return {.wall = nanoseconds(1'000'000)};
}

TEST(Disturbance, EachKindHasItsThreshold) {
  EXPECT_EQ(kind_of(calm()), DisturbanceKind::kNone);
  Disturbance d = calm();
  d.faults = nanoseconds(10'000);
  EXPECT_EQ(kind_of(d), DisturbanceKind::kNone);
  d.faults = nanoseconds(10'001);
  EXPECT_EQ(kind_of(d), DisturbanceKind::kFaults);
  d.waited = nanoseconds(990'000);  // nearly all the time, but no turn of another process
  EXPECT_EQ(kind_of(d), DisturbanceKind::kFaults);
  d.waited = nanoseconds(1'000'001);
  EXPECT_EQ(kind_of(d), DisturbanceKind::kPreempted);
  d.stolen = nanoseconds(10'000'001);
  EXPECT_EQ(kind_of(d), DisturbanceKind::kStolen);
}

TEST(Disturbance, TheGpusClockMustAgreeWithTheCheckers) {
  Disturbance d{.wall = std::chrono::milliseconds(20), .launches = 2};
  d.unexplained = std::chrono::microseconds(400);  // 2 %
  EXPECT_EQ(kind_of(d), DisturbanceKind::kNone);
  d.unexplained += nanoseconds(1);
  EXPECT_EQ(kind_of(d), DisturbanceKind::kClocks);
  // Short calls: what it takes to wake up, at each launch.
  d.wall = std::chrono::microseconds(20);
  d.unexplained = std::chrono::microseconds(400);
  EXPECT_EQ(kind_of(d), DisturbanceKind::kNone);
  d.unexplained += nanoseconds(1);
  EXPECT_EQ(kind_of(d), DisturbanceKind::kClocks);
}

TEST(SampleFilter, DropsWholeBlocksWhicheverSideIsDisturbed) {
  SampleFilter filter;
  Disturbance preempted = calm();
  preempted.waited = nanoseconds(2'000'000);
  EXPECT_TRUE(filter.keep(calm(), calm()));
  EXPECT_FALSE(filter.keep(preempted, calm()));
  EXPECT_FALSE(filter.keep(calm(), preempted));
  EXPECT_EQ(filter.kept(), 1U);
  EXPECT_EQ(filter.dropped(), 2U);
}

TEST(SampleFilter, MoreThanOneInTenIsNoisy) {
  SampleFilter filter;
  Disturbance faulting = calm();
  faulting.faults = nanoseconds(500'000);
  for (int i = 0; i < 2; ++i) filter.keep(faulting, calm());
  EXPECT_FALSE(filter.noisy());  // too early to tell
  for (int i = 0; i < 17; ++i) filter.keep(calm(), calm());
  EXPECT_TRUE(filter.noisy());
  EXPECT_EQ(filter.dropped_by(DisturbanceKind::kFaults), 2U);
  filter.keep(calm(), calm());
  EXPECT_FALSE(filter.noisy());  // 2 of 20
}

TEST(SampleFilter, AnEmptyOneIsCalm) {
  EXPECT_FALSE(SampleFilter().noisy());
}

}  // namespace
}  // namespace kw::gym
