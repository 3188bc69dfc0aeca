#include "gym/measure/processor_time.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using std::chrono::milliseconds;

TEST(ProcessorTime, IsTheWallTimeWithoutWhatOtherProgramsTook) {
  EXPECT_EQ(processor_time({milliseconds(20), milliseconds(9), milliseconds(9), milliseconds(11)}),
            milliseconds(9));
  EXPECT_EQ(processor_time({milliseconds(9), milliseconds(9), milliseconds(9), milliseconds(0)}),
            milliseconds(9));
}

TEST(ProcessorTime, SleepCounts) {
  // It computes for 1 ms and sleeps for 8; others have the core for 2 ms while it is ready.
  EXPECT_EQ(processor_time({milliseconds(11), milliseconds(1), milliseconds(1), milliseconds(2)}),
            milliseconds(9));
}

// A second thread computes for 8 ms, for which the first spins in vain.
TEST(ProcessorTime, AnotherThreadOfTheSandboxIsNoOtherProgram) {
  EXPECT_EQ(processor_time({milliseconds(10), milliseconds(10), milliseconds(2), milliseconds(8)}),
            milliseconds(10));
  // Others have the core for as long again.
  EXPECT_EQ(processor_time({milliseconds(20), milliseconds(10), milliseconds(2), milliseconds(18)}),
            milliseconds(10));
}

// The first thread sleeps until a second one has computed for 4 ms, which others kept from its core
// for 5 ms.
TEST(ProcessorTime, OthersMayTakeTheCoreFromAnyThread) {
  ProcessorUse use{milliseconds(10), milliseconds(5), milliseconds(1), milliseconds(0)};
  EXPECT_EQ(processor_time(use), milliseconds(10));
  use.sandbox_waited = milliseconds(5);
  EXPECT_EQ(processor_time(use), milliseconds(5));
  use.all_ran = milliseconds(7);
  EXPECT_EQ(processor_time(use), milliseconds(7));
}

TEST(ProcessorTime, IsNeverLessThanTheCoreTime) {
  EXPECT_EQ(processor_time({milliseconds(10), milliseconds(8), milliseconds(8), milliseconds(30)}),
            milliseconds(8));
  EXPECT_EQ(processor_time({milliseconds(10), milliseconds(10), milliseconds(0), milliseconds(30)}),
            milliseconds(10));
  EXPECT_EQ(processor_time({milliseconds(0), milliseconds(0), milliseconds(5), milliseconds(1)}),
            milliseconds(0));
}

}  // namespace
}  // namespace kw::gym
