// Threads that take work from a bounded queue.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace kw::os {

class Workers {
 public:
  using Work = std::function<void(const std::stop_token&)>;
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  Workers(int threads, std::size_t most_waiting) : most_waiting_(most_waiting) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Waits while the queue is full. Any thread but these. The work begins at not_before at the
  // earliest, and keeps no thread until then; what may begin does so in the order of posting.
  void post(Work work, Time not_before = Time::min()) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return queue_.size() < most_waiting_; });
    queue_.push_back({not_before, std::move(work)});
    ++posted_;
    work_.notify_one();
  }

  // Asks running work to stop, drops waiting work, and returns when all threads have ended.
  void stop() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
    std::lock_guard lock(mutex_);
    queue_.clear();
  }

 private:
  struct Waiting {
    Time not_before;
    Work work;
  };

  void run(const std::stop_token& stop) {
    while (std::optional<Work> work = next(stop)) (*work)(stop);
  }

  // nullopt after a stop.
  std::optional<Work> next(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const Time now = Clock::now();
      auto ready = std::find_if(queue_.begin(), queue_.end(),
                                [now](const Waiting& one) { return one.not_before <= now; });
      if (ready != queue_.end()) {
        Work out = std::move(ready->work);
        queue_.erase(ready);
        room_.notify_one();
        // A thread that waits for later work may have been woken for this one, so another is woken.
        if (!queue_.empty()) work_.notify_one();
        return out;
      }
      wait_for_work(lock, stop);
    }
    return std::nullopt;
  }

  // Until something is posted, may begin, or a stop.
  void wait_for_work(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
    const std::size_t seen = posted_;
    const auto change = [this, seen] { return posted_ != seen; };
    if (queue_.empty()) {
      work_.wait(lock, stop, change);
      return;
    }
    const auto first = std::min_element(
        queue_.begin(), queue_.end(),
        [](const Waiting& a, const Waiting& b) { return a.not_before < b.not_before; });
    work_.wait_until(lock, stop, first->not_before, change);
  }

  const std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable_any work_;
  std::deque<Waiting> queue_;  // under mutex_
  std::size_t posted_ = 0;     // under mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace kw::os
