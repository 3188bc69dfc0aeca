// Time as a parameter: waits of the client go through it, so that tests do not sleep.
#pragma once
#include <chrono>
#include <stop_token>

namespace kw::openai {

// Any thread.
class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  virtual ~Clock() = default;
  virtual Time now() = 0;
  // False when stop was requested before. Returns at once for a time that has passed.
  virtual bool wait_until(Time time, const std::stop_token& stop) = 0;
};

Clock& system_clock();

}  // namespace kw::openai
