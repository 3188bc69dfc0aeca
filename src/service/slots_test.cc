#include "service/slots.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace kw::service {
namespace {

void wait_for(const std::stop_token& stop) {
  while (!stop.stop_requested()) std::this_thread::yield();
}

TEST(Slots, TheFirstThatReturnsStopsTheOthers) {
  std::atomic<int> begun = 0, ended = 0;
  const Status out = run_slots(3, {}, [&](const std::stop_token& stop) -> Status {
    const bool fails = begun++ == 1;
    if (!fails) wait_for(stop);
    ++ended;
    return fails ? fail(ErrorCode::kUnavailable, "the server is gone") : Status();
  });
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message(), "the server is gone");
  EXPECT_EQ(ended, 3);
}

TEST(Slots, AStopFromOutsideEndsAllWithoutAnError) {
  std::stop_source outside;
  std::atomic<int> begun = 0;
  const Status out = run_slots(2, outside.get_token(), [&](const std::stop_token& stop) -> Status {
    if (++begun == 2) outside.request_stop();
    wait_for(stop);
    return {};
  });
  EXPECT_TRUE(out);
  EXPECT_EQ(begun, 2);
}

}  // namespace
}  // namespace kw::service
