#include "gym/checker/call_deadline.h"

#include <gtest/gtest.h>

#include "gym/checker/testing/fake_monitor.h"

namespace kw::gym {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CallDeadlineTest : public ::testing::Test {
 protected:
  CallDeadlineTest() {
    process_.waited = process_.first_thread.waited = seconds(100);  // before the call
  }
  CallDeadline begun() {
    CallDeadline out(begin_, seconds(2), monitor_);
    EXPECT_FALSE(out.has_passed(begin_ + seconds(1)));
    return out;
  }

  const CheckerClock::Time begin_{seconds(1000)};
  testing::FakeMonitor::Process process_;
  testing::FakeMonitor monitor_{process_};
};

TEST_F(CallDeadlineTest, PassesWithTheTimeout) {
  CallDeadline deadline = begun();
  EXPECT_FALSE(deadline.has_passed(begin_ + seconds(2)));
  EXPECT_TRUE(deadline.has_passed(begin_ + seconds(3)));
}

TEST_F(CallDeadlineTest, StandsStillWhileOthersMeasure) {
  CallDeadline deadline = begun();
  deadline.set_aside(seconds(3));
  deadline.set_aside(seconds(1));
  EXPECT_EQ(deadline.aside(), seconds(4));
  EXPECT_FALSE(deadline.has_passed(begin_ + seconds(6)));
  EXPECT_TRUE(deadline.has_passed(begin_ + seconds(7)));
}

TEST_F(CallDeadlineTest, StandsStillWhileTheMachineGivesNoCore) {
  for (std::chrono::nanoseconds* count : {&process_.waited, &process_.first_thread.waited}) {
    CallDeadline deadline = begun();
    *count += seconds(5);
    EXPECT_FALSE(deadline.has_passed(begin_ + seconds(7)));
    EXPECT_TRUE(deadline.has_passed(begin_ + seconds(8)));
    *count -= seconds(5);
  }
}

// A short call costs no look at its process.
TEST_F(CallDeadlineTest, LooksAtTheProcessAfterAWhile) {
  CallDeadline deadline(begin_, seconds(2), monitor_);
  EXPECT_FALSE(deadline.has_passed(begin_ + milliseconds(19)));
  process_.waited += seconds(5);
  EXPECT_FALSE(deadline.has_passed(begin_ + milliseconds(21)));
  EXPECT_TRUE(deadline.has_passed(begin_ + seconds(3)));  // those five seconds were before it
}

// The one who waits did not run for so long, and the process may not have run either.
TEST_F(CallDeadlineTest, BeginsAnewWhereTheFirstLookIsLate) {
  CallDeadline deadline(begin_, seconds(2), monitor_);
  deadline.set_aside(seconds(1));
  EXPECT_FALSE(deadline.has_passed(begin_ + seconds(50)));
  EXPECT_FALSE(deadline.has_passed(begin_ + seconds(52)));
  EXPECT_TRUE(deadline.has_passed(begin_ + seconds(53)));
}

TEST_F(CallDeadlineTest, NobodyWaitsForEver) {
  CallDeadline deadline = begun();
  process_.waited += seconds(1000);
  EXPECT_FALSE(deadline.has_passed(begin_ + seconds(20)));
  EXPECT_TRUE(deadline.has_passed(begin_ + seconds(21)));
}

}  // namespace
}  // namespace kw::gym
