// Threads that take work from a bounded queue.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace kw::search {

class Workers {
 public:
  using Work = std::function<void(const std::stop_token&)>;

  Workers(int threads, std::size_t most_waiting) : most_waiting_(most_waiting) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Waits while the queue is full. Any thread but these.
  void post(Work work) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return queue_.size() < most_waiting_; });
    queue_.push_back(std::move(work));
    work_.notify_one();
  }

  // Asks what is under way to stop, drops what waits, and returns when all threads have ended.
  void stop() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
    std::lock_guard lock(mutex_);
    queue_.clear();
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      Work work;
      {
        std::unique_lock lock(mutex_);
        if (!work_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
        if (stop.stop_requested()) return;
        work = std::move(queue_.front());
        queue_.pop_front();
        room_.notify_one();
      }
      work(stop);
    }
  }

  const std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable_any work_;
  std::deque<Work> queue_;  // under mutex_
  std::vector<std::jthread> threads_;
};

// False when a stop came first.
inline bool pause(std::chrono::duration<double> duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace kw::search
