// Private: names to addresses, with a deadline that the system's resolver does not have.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"

namespace kw::net {

// Look-ups run on one thread, which starts with the first: one that hangs delays others until their
// own deadline, and this object's end. Thread-safe.
class NameResolver {
 public:
  using Clock = std::chrono::steady_clock;
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

  // An address needs no look-up. kUnavailable, kDeadlineExceeded, kCancelled.
  Result<Endpoints> resolve(const std::string& host, std::uint16_t port, Clock::time_point deadline,
                            const std::stop_token& stop);

 private:
  struct Lookup {
    std::string host;
    std::uint16_t port = 0;
    std::optional<Result<Endpoints>> result;
  };
  static Result<Endpoints> look_up(const std::string& host, std::uint16_t port);
  void loop(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any change_;
  std::deque<std::shared_ptr<Lookup>> waiting_;
  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace kw::net
