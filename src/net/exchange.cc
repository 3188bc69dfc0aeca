// The buffer between handler and connection.
#include "net/exchange.h"

#include <utility>

#include "base/check.h"

namespace kw::net {

Exchange::Exchange(std::size_t full_at, std::thread::id io_thread, std::function<void()> wake)
    : full_at_(full_at), io_thread_(io_thread), wake_(std::move(wake)) {}

void Exchange::wake_locked() {
  if (woken_ || gone_) return;
  woken_ = true;
  wake_();
}

void Exchange::send(Response response) {
  std::lock_guard lock(mutex_);
  bytes_ = std::move(response.body);
  response.body.clear();
  waiting_ += bytes_.size();
  head_ = std::move(response);
  finished_ = true;
  wake_locked();
}

void Exchange::start(Response head) {
  std::lock_guard lock(mutex_);
  bytes_ = std::move(head.body);
  head.body.clear();
  waiting_ += bytes_.size();
  head_ = std::move(head);
  streamed_ = true;
  wake_locked();
}

Wrote Exchange::try_write(std::string_view bytes) {
  std::lock_guard lock(mutex_);
  KW_CHECK(streamed_ && !finished_);
  if (gone_) return Wrote::kGone;
  if (waiting_ >= full_at_) return Wrote::kFull;
  bytes_.append(bytes);
  waiting_ += bytes.size();
  wake_locked();
  return Wrote::kTaken;
}

bool Exchange::write(std::string_view bytes) {
  KW_CHECK(std::this_thread::get_id() != io_thread_);
  {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return gone_ || waiting_ < full_at_; });
  }
  // One thread at a time writes, so the room is still there.
  return try_write(bytes) == Wrote::kTaken;
}

void Exchange::finish() {
  std::lock_guard lock(mutex_);
  KW_CHECK(streamed_);
  finished_ = true;
  wake_locked();
}

void Exchange::abandon() {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  abandoned_ = true;
  wake_locked();
}

std::size_t Exchange::waiting_bytes() const {
  std::lock_guard lock(mutex_);
  return waiting_;
}

Exchange::Taken Exchange::take() {
  std::lock_guard lock(mutex_);
  woken_ = false;
  Taken out;
  out.head = std::exchange(head_, std::nullopt);
  out.streamed = streamed_;
  out.bytes = std::move(bytes_);
  bytes_.clear();
  out.finished = finished_;
  out.abandoned = abandoned_;
  return out;
}

void Exchange::written(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  waiting_ -= bytes;
  room_.notify_all();
}

void Exchange::detach() {
  std::lock_guard lock(mutex_);
  gone_ = true;
  wake_ = nullptr;
  bytes_.clear();
  room_.notify_all();
}

}  // namespace kw::net
