// One request's answer, on its way from a handler's thread to the connection's io thread.
//
// Theory of operation: the handler's side appends to what waits, under the lock, and wakes the
// connection once; the connection takes all that waits, writes it, and reports what is written,
// which makes room. detach() ends it: from then on nothing is taken and nobody is woken, so the
// connection and its io_context may go. The stop token is triggered without the lock, because
// callbacks may come back here.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "net/http_message.h"
#include "net/responder.h"

namespace kw::net {

class Exchange {
 public:
  // wake: tells the connection that there is something to take; called under the lock, so it only
  // posts. full_at: pieces are taken while fewer bytes wait.
  Exchange(std::size_t full_at, std::thread::id io_thread, std::function<void()> wake);

  // The handler's side, any thread.
  void send(Response response);
  void start(Response head);
  Wrote try_write(std::string_view bytes);
  bool write(std::string_view bytes);
  void finish();
  void abandon();  // nobody will answer, or go on
  std::size_t waiting_bytes() const;
  std::stop_token stop_token() const { return stop_.get_token(); }

  // The connection's side, its io thread.
  struct Taken {
    std::optional<Response> head;  // once, before any bytes
    bool streamed = false;         // the length is not known: bytes go out as chunks
    std::string bytes;
    bool finished = false;
    bool abandoned = false;  // cut the connection, or answer 500 when there was no head
  };
  Taken take();
  void written(std::size_t bytes);
  void detach();
  void request_stop() { stop_.request_stop(); }

 private:
  void wake_locked();

  const std::size_t full_at_;
  const std::thread::id io_thread_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::function<void()> wake_;
  std::stop_source stop_;
  std::optional<Response> head_;
  std::string bytes_;
  std::size_t waiting_ = 0;  // bytes_ and what the connection is writing
  bool streamed_ = false;
  bool finished_ = false;
  bool abandoned_ = false;
  bool woken_ = false;
  bool gone_ = false;
};

}  // namespace kw::net
