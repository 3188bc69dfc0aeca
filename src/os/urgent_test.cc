#include "os/urgent.h"

#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

namespace kw::os {
namespace {

int policy() {
  return ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

TEST(Urgent, ThreadsOfAnUrgentOneAreOrdinaryAndItIsOrdinaryAgain) {
  const int before = policy();
  {
    const UrgentScope urgent;
    if (policy() == before) GTEST_SKIP() << "this process may have no urgent threads";
    EXPECT_EQ(policy(), SCHED_FIFO);
    std::optional<int> other;
    std::thread([&other] { other = policy(); }).join();
    EXPECT_EQ(other, SCHED_OTHER);
    const UrgentScope again;
  }
  EXPECT_EQ(policy(), before);
}

}  // namespace
}  // namespace kw::os
