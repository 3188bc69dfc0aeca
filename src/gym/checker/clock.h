// CheckerClock: the checker's time as a parameter, so that tests neither sleep nor depend on the
// machine.
#pragma once
#include <chrono>

namespace kw::gym {

// The checker's clock; only one thread may use it. A judgement does not time launches with it:
// LaunchResult has their time, since a GPU's executor measures with events (executor.h).
class CheckerClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  virtual ~CheckerClock() = default;
  virtual Time now() = 0;
  virtual void sleep_for(std::chrono::nanoseconds duration) = 0;
};

// The host's monotonic clock. Any thread.
CheckerClock& host_clock();

inline double to_ms(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace kw::gym
