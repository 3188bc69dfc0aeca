// A lock that needs no allocation, no initialisation and survives fork (see interpose.cc).
#pragma once
#include <atomic>

#include <sched.h>

namespace kw::arena {

class SpinLock {
 public:
  void lock() {
    int spins = 0;
    while (taken_.exchange(true, std::memory_order_acquire)) {
      if (++spins % 64 == 0) ::sched_yield();
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

class LockGuard {
 public:
  explicit LockGuard(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace kw::arena
