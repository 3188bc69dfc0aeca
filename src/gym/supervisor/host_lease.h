// The timing lease of one resource: one measurement at a time on the host's CPU or on one of its
// GPUs (gym/measure/timing_lock.h). Meanwhile the caller's background is stopped and our own other
// sandboxes are frozen, as far as they use the resource.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "gym/gym.h"
#include "gym/measure/timing_lock.h"
#include "gym/supervisor/checker_process.h"
#include "sandbox/sandbox.h"

namespace kw::gym {

// The gym's sandboxes that use a resource, as its lease sees them: on the CPU all of them.
class Sandboxes {
 public:
  virtual ~Sandboxes() = default;
  // Every sandbox but those given: nothing of ours disturbs a timed block.
  virtual Status freeze_others(const std::vector<const sandbox::Sandbox*>& keep_running) = 0;
  virtual Status thaw_others() = 0;
};

// Shared by all evaluations of a gym on the lock's resource; thread-safe. Leases of two resources
// are held side by side where their locks allow it.
class HostLease {
 public:
  // Borrows sandboxes and background, which are those that use the resource. There may be no
  // background.
  HostLease(TimingLock lock, Sandboxes& sandboxes, Background* background)
      : lock_(std::move(lock)), sandboxes_(sandboxes), background_(background) {}

  Status acquire(const std::vector<const sandbox::Sandbox*>& keep_running);
  void release();

  // The time for which the lease has been held since the start, the present holding included.
  // Processes that are not kept running stood still for as long. It never decreases.
  std::chrono::nanoseconds held() const;

 private:
  using Clock = std::chrono::steady_clock;

  TimingLock lock_;
  Sandboxes& sandboxes_;
  Background* background_;
  std::mutex exclusive_;  // held from acquire() to release()
  mutable std::mutex times_mutex_;
  std::chrono::nanoseconds held_before_{0};  // under times_mutex_
  std::optional<Clock::time_point> since_;   // under times_mutex_; nothing while it is not held
};

// The lease of one evaluation: its own sandboxes stay runnable (their checker freezes them itself).
class EvaluationLease : public ResourceLease {
 public:
  EvaluationLease(HostLease& host, std::vector<const sandbox::Sandbox*> own)
      : host_(host), own_(std::move(own)) {}
  Status acquire() override { return host_.acquire(own_); }
  void release() override { host_.release(); }

 private:
  HostLease& host_;
  std::vector<const sandbox::Sandbox*> own_;
};

}  // namespace kw::gym
