// Whether a machine is quiet, by texts of /proc/stat.
#include "gym/supervisor/quiet_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

// user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice
constexpr const char* kStat =
    "cpu  1000 200 300 99999 4444 50 60 90 7 8\n"
    "cpu0 1 2 3 4 5 6 7 8 9 10\n";

TEST(QuietMachine, CoreTimeIsBusyUnlessItIdlesOrWaitsForADisk) {
  EXPECT_DOUBLE_EQ(busy_seconds(kStat, 100).value(), 17.0);
  EXPECT_DOUBLE_EQ(busy_seconds(kStat, 1000).value(), 1.7);
}

TEST(QuietMachine, ATextWithoutTheLineOfAllCoresIsAnError) {
  for (const char* text : {"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8\n", "intr 1 2 3 4 5 6 7 8\n"}) {
    const auto busy = busy_seconds(text, 100);
    ASSERT_FALSE(busy) << text;
    EXPECT_EQ(busy.error().code(), ErrorCode::kInternal);
  }
}

TEST(QuietMachine, OthersMayUseATwentiethOfACore) {
  EXPECT_TRUE(require_quiet(0));
  EXPECT_TRUE(require_quiet(0.05));
  const Status loud = require_quiet(0.37);
  ASSERT_FALSE(loud);
  EXPECT_EQ(loud.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(loud.error().message(), ::testing::HasSubstr("others use 37 % of a core"));
  EXPECT_FALSE(require_quiet(0.051));
}

}  // namespace
}  // namespace kw::gym
