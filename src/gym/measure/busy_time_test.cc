#include "gym/measure/busy_time.h"

#include <optional>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using namespace std::chrono_literals;

BusyTime::Clock::time_point now;

TEST(BusyTime, OverlappingOperationsCountOnce) {
  now = {};
  BusyTime busy([] { return now; });
  now += 5ms;
  std::optional<BusyScope> first(&busy);
  now += 1ms;
  EXPECT_EQ(busy.total(), 1ms);
  std::optional<BusyScope> second(&busy);
  now += 2ms;
  first.reset();
  now += 4ms;
  second.reset();
  now += 8ms;
  EXPECT_EQ(busy.total(), 7ms);
  BusyScope third(&busy), nobody(nullptr);
  now += 1ms;
  EXPECT_EQ(busy.total(), 8ms);
}

}  // namespace
}  // namespace kw::gym
