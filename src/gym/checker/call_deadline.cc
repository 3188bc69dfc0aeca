#include "gym/checker/call_deadline.h"

#include <algorithm>

#include "base/present.h"

namespace kw::gym {

CallDeadline::CallDeadline(CheckerClock::Time now, std::chrono::nanoseconds timeout,
                           sandbox::Monitor& process)
    : begin_(now), timeout_(timeout), process_(&process) {}

// The group's count, where the kernel has it, or the first thread's.
std::chrono::nanoseconds CallDeadline::without_core() const {
  return std::max(process_->waited(), process_->first_thread().waited);
}

// Most calls end before the first look at the process, and cost no look.
bool CallDeadline::has_passed(CheckerClock::Time now) {
  constexpr int kFirstLook = 100;  // after that part of the timeout
  const std::chrono::nanoseconds waited = now - begin_ - aside_;
  if (!without_core_before_ && waited > timeout_ / kFirstLook) {
    without_core_before_ = without_core();
    if (waited > timeout_) begin_ = now - aside_;  // who waits had no core either: once more
    return false;
  }
  if (waited <= timeout_) return false;
  if (waited > timeout_ * kMostTimeouts) return true;
  return waited - (without_core() - present(without_core_before_)) > timeout_;
}

}  // namespace kw::gym
