// Pipes into bounded texts.
#include "sandbox/log_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"

namespace kw::sandbox {

bool Log::pump() {
  std::lock_guard guard(mutex_);
  return pump_locked();
}

bool Log::pump_locked() {
  std::array<char, kPart> chunk;
  for (int round = 0; round < 16 && !ended_; ++round) {
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)  // the pipe is O_NONBLOCK
    ssize_t got = ::read(pipe_.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      ended_ = true;
      break;
    }
    keep({chunk.data(), static_cast<std::size_t>(got)});
  }
  return !ended_;
}

void Log::keep(std::string_view chunk) {
  bool was_over = total_ > kLimit;
  std::size_t to_head = std::min(chunk.size(), kPart - std::min(kPart, head_.size()));
  head_ += chunk.substr(0, to_head);
  total_ += to_head;
  for (char byte : chunk.substr(to_head)) {
    std::size_t place = static_cast<std::size_t>(total_ - kPart) % kPart;
    if (place < ring_.size()) {
      ring_[place] = byte;
    } else {
      ring_.push_back(byte);
    }
    ++total_;
  }
  if (!was_over && total_ > kLimit && on_limit_) on_limit_();
}

std::string Log::text() {
  std::lock_guard guard(mutex_);
  pump_locked();
  std::string text = head_;
  std::uint64_t behind = total_ - head_.size();
  if (behind <= kPart) {
    text += ring_;
  } else {
    std::size_t start = static_cast<std::size_t>(behind % kPart);
    text += "\n[... " + format_bytes(behind - kPart) + " left out ...]\n" + ring_.substr(start) +
            ring_.substr(0, start);
  }
  return printable(text, 4 * kPart);
}

std::uint64_t Log::bytes() {
  std::lock_guard guard(mutex_);
  pump_locked();
  return total_;
}

bool Log::over_limit() {
  return bytes() > kLimit;
}

LogReader::LogReader() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  KW_CHECK(epoll_.valid() && stop_.valid());
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = stop_.get();
  KW_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event) == 0);
  thread_ = std::thread([this] { run(); });
}

LogReader::~LogReader() {
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t ignored = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

std::shared_ptr<Log> LogReader::add(os::UniqueFd pipe, std::function<void()> on_limit) {
  int fd = pipe.get();
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  auto log = std::make_shared<Log>(std::move(pipe), std::move(on_limit));
  std::lock_guard guard(mutex_);
  logs_[fd] = log;  // a closed log's number may come back: its descriptor left the epoll set when
                    // it was closed
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  KW_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  return log;
}

void LogReader::run() {
  std::array<epoll_event, 16> events;
  while (true) {
    int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop_.get()) return;
      std::shared_ptr<Log> log;
      {
        std::lock_guard guard(mutex_);
        auto found = logs_.find(fd);
        if (found != logs_.end()) log = found->second.lock();
      }
      if (log && log->pump()) continue;
      std::lock_guard guard(mutex_);
      if (log) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
      if (auto found = logs_.find(fd); found != logs_.end() && found->second.lock() == log)
        logs_.erase(found);
    }
  }
}

}  // namespace kw::sandbox
