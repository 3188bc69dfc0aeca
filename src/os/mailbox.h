// Mailbox: messages of many threads for one that reads.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace kw::os {

template <typename Message>
class Mailbox {
 public:
  void put(Message message) {
    std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    change_.notify_one();
  }

  // Waits at most `most` for a message. nullopt after a stop, also when messages wait, and when
  // none came in time.
  std::optional<Message> take(const std::stop_token& stop, std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    const bool came = change_.wait_for(lock, stop, most, [this] { return !messages_.empty(); });
    return stop.stop_requested() || !came ? std::nullopt : std::optional<Message>(pop());
  }

  std::optional<Message> take_if_there() {
    std::lock_guard lock(mutex_);
    return messages_.empty() ? std::nullopt : std::optional<Message>(pop());
  }

 private:
  Message pop() {
    Message out = std::move(messages_.front());
    messages_.pop_front();
    return out;
  }

  std::mutex mutex_;
  std::condition_variable_any change_;
  std::deque<Message> messages_;  // under mutex_
};

}  // namespace kw::os
