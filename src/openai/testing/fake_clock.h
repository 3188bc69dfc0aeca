// For tests: a clock that a wait moves at once to its end.
#pragma once
#include <algorithm>
#include <mutex>
#include <vector>

#include "openai/clock.h"

namespace kw::openai::testing {

inline double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

class FakeClock : public Clock {
 public:
  Time now() override {
    std::lock_guard lock(mutex_);
    return now_;
  }
  bool wait_until(Time time, const std::stop_token& stop) override {
    if (stop.stop_requested()) return false;
    std::lock_guard lock(mutex_);
    if (time > now_) {
      waits_.push_back(time - now_);
      now_ = time;
    }
    return true;
  }
  void advance(std::chrono::nanoseconds by) {
    std::lock_guard lock(mutex_);
    now_ += by;
  }
  // Those that took time, in order.
  std::vector<std::chrono::nanoseconds> waits() const {
    std::lock_guard lock(mutex_);
    return waits_;
  }

 private:
  mutable std::mutex mutex_;
  Time now_{std::chrono::hours(1000)};
  std::vector<std::chrono::nanoseconds> waits_;
};

}  // namespace kw::openai::testing
