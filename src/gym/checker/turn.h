// Turn: a checker's right to work unmeasured, itself or by an executor or an oracle of its. While
// it has a turn, nobody on the host measures; it gives the turn up for those who wait to measure.
#pragma once
#include <chrono>
#include <utility>

#include "base/result.h"
#include "gym/measure/timing_lock.h"
#include "sandbox/sandbox.h"

namespace kw::gym {

// Only one thread may use it. A checker that measures (lease_client.h) or waits for a request has
// no turn.
class Turn {
 public:
  static constexpr std::chrono::milliseconds kSlice{100};

  // slice: how long it lasts when others wait for the lock.
  explicit Turn(TimingLock lock, std::chrono::nanoseconds slice = kSlice)
      : lock_(std::move(lock)), slice_(slice) {}

  // Waits until no measurement is under way.
  Status begin();
  void end();
  bool has_begun() const { return has_begun_; }

  // To be called now and then. After a slice, if others wait to measure, it freezes `running`
  // (null: nothing runs) and lets them go first. Returns the time for which `running` stood still;
  // deadlines and times move by it. It does nothing without a turn, and where `running` cannot be
  // frozen.
  Result<std::chrono::nanoseconds> make_way(sandbox::Monitor* running);

 private:
  using Clock = std::chrono::steady_clock;

  TimingLock lock_;
  std::chrono::nanoseconds slice_;
  bool has_begun_ = false;
  Clock::time_point since_;
};

// A turn for the length of a scope; it may end earlier.
class TurnScope {
 public:
  static Result<TurnScope> begin(Turn& turn) {
    KW_TRY_STATUS(turn.begin());
    return TurnScope(turn);
  }
  TurnScope(TurnScope&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
  TurnScope& operator=(TurnScope&&) = delete;
  TurnScope(const TurnScope&) = delete;
  ~TurnScope() {
    if (turn_ != nullptr) turn_->end();
  }

 private:
  explicit TurnScope(Turn& turn) : turn_(&turn) {}
  Turn* turn_;
};

}  // namespace kw::gym
