#include "flushes.h"

#include <gtest/gtest.h>

namespace kw::gpu_executor {
namespace {

using namespace std::chrono_literals;

TEST(Flushes, AreFewWhereTheGpuIsAwakeAndLaunchingIsKnown) {
  Flushes flushes;
  EXPECT_EQ(flushes.before_call(1ms), Flushes::kAfterShortRest);
  EXPECT_EQ(flushes.before_call(16ms), Flushes::kAfterRest);
  flushes.saw_flushing(960us, 24);
  EXPECT_EQ(flushes.before_call(1ms), Flushes::kAfterShortRest);
  flushes.saw_launching(10us);
  EXPECT_EQ(flushes.before_call(1ms), Flushes::kMin);
  EXPECT_EQ(flushes.before_call(5ms), Flushes::kAfterShortRest);
  EXPECT_EQ(flushes.before_call(16ms), Flushes::kAfterRest);
  flushes.forget_launching();
  EXPECT_EQ(flushes.before_call(1ms), Flushes::kAfterShortRest);
}

TEST(Flushes, KeepTheGpuBusyWhileTheHostLaunches) {
  Flushes flushes;
  flushes.saw_flushing(400us, 10);
  flushes.saw_launching(4ms);
  EXPECT_EQ(flushes.before_call(0ns), 151);
  EXPECT_EQ(flushes.before_call(1s), 151);
  flushes.saw_launching(1s);
  EXPECT_EQ(flushes.before_call(0ns), Flushes::kMaxFlushes);
}

TEST(Flushes, OneLongLaunchIsForgotten) {
  Flushes flushes;
  flushes.saw_flushing(400us, 10);
  flushes.saw_launching(4ms);
  for (int call = 0; call < 20; ++call) flushes.saw_launching(10us);
  EXPECT_EQ(flushes.before_call(0ns), Flushes::kMin);
}

}  // namespace
}  // namespace kw::gpu_executor
