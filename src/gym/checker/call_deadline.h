// CallDeadline: when a wait for a sandboxed process has lasted too long. Time in which others
// measured is not counted, nor time in which the process was ready and the machine gave its core to
// something else: on a busy machine that is no fault of the process.
#pragma once
#include <chrono>
#include <optional>

#include "gym/checker/clock.h"
#include "sandbox/sandbox.h"

namespace kw::gym {

// One thread at a time.
class CallDeadline {
 public:
  // A process that makes itself wait, by threads that take each other's cores, gets no more than
  // this many times its timeout.
  static constexpr int kMostTimeouts = 10;

  // The wait begins now. process: borrowed.
  CallDeadline(CheckerClock::Time now, std::chrono::nanoseconds timeout, sandbox::Monitor& process);

  // Others measured for so long while the process stood still.
  void set_aside(std::chrono::nanoseconds more) { aside_ += more; }
  std::chrono::nanoseconds aside() const { return aside_; }
  // To be asked again and again.
  bool has_passed(CheckerClock::Time now);

 private:
  std::chrono::nanoseconds without_core() const;

  CheckerClock::Time begin_;
  std::chrono::nanoseconds timeout_;
  sandbox::Monitor* process_;
  std::optional<std::chrono::nanoseconds> without_core_before_;
  std::chrono::nanoseconds aside_{0};
};

}  // namespace kw::gym
