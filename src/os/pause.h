// A pause that a stop ends.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace kw::os {

// False when a stop came first.
inline bool pause(std::chrono::duration<double> duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace kw::os
