// BusyTime: how long a resource had operations outstanding, by the clock of whoever asked for them.
#pragma once
#include <chrono>

namespace kw::gym {

// Operations that overlap count once. One thread.
class BusyTime {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();
  explicit BusyTime(Now now = &Clock::now) : now_(now) {}

  void begin() {
    if (outstanding_++ == 0) since_ = now_();
  }
  // Once for each begin().
  void end() {
    if (--outstanding_ == 0) before_ += now_() - since_;
  }
  // So far, what is outstanding included.
  std::chrono::nanoseconds total() const {
    return before_ + (outstanding_ > 0 ? now_() - since_ : Clock::duration(0));
  }

 private:
  Now now_;
  int outstanding_ = 0;
  Clock::time_point since_;
  Clock::duration before_{0};
};

// An operation that lasts as long as this lives. busy: borrowed; null: nobody counts.
class BusyScope {
 public:
  explicit BusyScope(BusyTime* busy) : busy_(busy) {
    if (busy_ != nullptr) busy_->begin();
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;
  ~BusyScope() {
    if (busy_ != nullptr) busy_->end();
  }

 private:
  BusyTime* busy_;
};

}  // namespace kw::gym
