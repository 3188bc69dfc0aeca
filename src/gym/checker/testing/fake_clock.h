// For tests: a clock that stands still until it is moved, and a machine that nothing disturbs.
#pragma once
#include <chrono>
#include <functional>

#include "gym/checker/clock.h"
#include "gym/checker/machine_state.h"
#include "gym/checker/timing_lease.h"

namespace kw::gym::testing {

class FakeClock final : public CheckerClock {
 public:
  Time now() override {
    now_ += step;
    return now_;
  }
  // Moves the clock by the whole duration at once.
  void sleep_for(std::chrono::nanoseconds duration) override {
    now_ += duration;
    slept += duration;
    if (on_sleep) on_sleep();
  }
  void advance(std::chrono::nanoseconds duration) { now_ += duration; }

  std::chrono::nanoseconds step{0};   // every look at the clock moves it by this
  std::chrono::nanoseconds slept{0};  // in all
  std::function<void()> on_sleep;     // changes the machine during a sleep

 private:
  Time now_{std::chrono::hours(1)};
};

class FakeMachine final : public MachineState {
 public:
  std::chrono::nanoseconds stolen_time() override { return stolen; }
  double page_fault_ns() override { return 500; }

  std::chrono::nanoseconds stolen{0};
};

class FakeLease final : public TimingLease {
 public:
  Status take() override {
    ++taken;
    if (on_take) on_take();
    return {};
  }
  void give_back() override { ++given_back; }

  int taken = 0, given_back = 0;
  std::function<void()> on_take;  // runs before the lease is granted
};

}  // namespace kw::gym::testing
