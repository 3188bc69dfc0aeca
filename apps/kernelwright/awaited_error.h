// An error of another thread's, for a command that runs until it comes or until it is stopped.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>

#include "base/error.h"

namespace kw::front {

// Thread-safe.
class AwaitedError {
 public:
  void set(const Error& why) {
    std::lock_guard lock(mutex_);
    why_ = why;
    change_.notify_all();
  }
  // Returns the error, and nothing when a stop came first.
  std::optional<Error> wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    change_.wait(lock, stop, [this] { return why_.has_value(); });
    return why_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any change_;
  std::optional<Error> why_;
};

}  // namespace kw::front
