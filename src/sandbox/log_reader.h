// What sandboxes write to stdout and stderr: read all the time (a full pipe would look like a
// time-out), kept in part, counted.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "os/fd.h"

namespace kw::sandbox {

// One pipe's text: its first and last 64 KiB. Untrusted bytes go in, printable text comes out.
// Threads: any.
class Log {
 public:
  static constexpr std::size_t kPart = std::size_t{64} * 1024;
  static constexpr std::uint64_t kLimit = 8ULL << 20U;

  // `pipe` must not block. `on_limit` is called once, by the thread that reads byte kLimit + 1.
  Log(os::UniqueFd pipe, std::function<void()> on_limit)
      : pipe_(std::move(pipe)), on_limit_(std::move(on_limit)) {}

  // What the pipe holds by now included. At most about 128 KiB, with a line that says how much is
  // left out.
  std::string text();
  std::uint64_t bytes();
  bool over_limit();

  // Reads what is there, at most 1 MiB, so that one flood does not starve the other logs; false at
  // the end of the pipe.
  bool pump();
  int fd() const { return pipe_.get(); }

 private:
  bool pump_locked();
  void keep(std::string_view chunk);

  os::UniqueFd pipe_;
  std::function<void()> on_limit_;
  std::mutex mutex_;  // everything below
  std::string head_;
  std::string ring_;  // the last kPart bytes behind the head, as a ring
  std::uint64_t total_ = 0;
  bool ended_ = false;
};

// One thread for all logs. A log is read until its writers are gone, or until nobody holds it any
// more.
class LogReader {
 public:
  LogReader();
  ~LogReader();
  LogReader(const LogReader&) = delete;
  // Takes the read end of a pipe. on_limit may be empty; over_limit() says the same.
  std::shared_ptr<Log> add(os::UniqueFd pipe, std::function<void()> on_limit = {});

 private:
  void run();

  os::UniqueFd epoll_, stop_;
  std::mutex mutex_;
  std::map<int, std::weak_ptr<Log>> logs_;
  std::thread thread_;
};

}  // namespace kw::sandbox
