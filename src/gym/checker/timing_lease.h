// TimingLease: the right to measure alone on the resource that is timed.
#pragma once
#include <utility>

#include "base/result.h"

namespace kw::gym {

// One thread.
class TimingLease {
 public:
  virtual ~TimingLease() = default;
  // Waits until no other process measures.
  virtual Status take() = 0;
  virtual void give_back() = 0;
};

// Holds a lease for the length of a scope. Borrows it.
class LeaseScope {
 public:
  static Result<LeaseScope> take(TimingLease& lease) {
    KW_TRY_STATUS(lease.take());
    return LeaseScope(lease);
  }
  LeaseScope(LeaseScope&& other) noexcept : lease_(std::exchange(other.lease_, nullptr)) {}
  LeaseScope& operator=(LeaseScope&&) = delete;
  LeaseScope(const LeaseScope&) = delete;
  ~LeaseScope() {
    if (lease_ != nullptr) lease_->give_back();
  }

 private:
  explicit LeaseScope(TimingLease& lease) : lease_(&lease) {}
  TimingLease* lease_;
};

}  // namespace kw::gym
