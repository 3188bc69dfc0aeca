// So many requests on the wire at once.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace kw::openai {

// Any thread.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}

  // False when none came free in time, or stop was requested.
  bool acquire(std::chrono::nanoseconds within, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!change_.wait_for(lock, stop, within, [&] { return free_ > 0; })) return false;
    --free_;
    return true;
  }
  bool try_acquire() {
    std::lock_guard lock(mutex_);
    if (free_ == 0) return false;
    --free_;
    return true;
  }
  void release() {
    std::lock_guard lock(mutex_);
    ++free_;
    change_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any change_;
  int free_;
};

}  // namespace kw::openai
