// RedisProxy: it stands between a client and a redis-server of a test's, and says when a request
// comes.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>

#include "os/fd.h"

namespace kw::service {

class RedisProxy {
 public:
  // before: called with what a client has sent, before it is passed on; on a thread of the
  // connection's. to: a port of 127.0.0.1.
  RedisProxy(std::uint16_t to, std::function<void(std::string_view sent)> before);
  std::uint16_t port() const { return port_; }

 private:
  void serve(const std::stop_token& stop);
  void pass(const std::stop_token& stop, const os::UniqueFd& client) const;

  const std::uint16_t to_;
  const std::function<void(std::string_view)> before_;
  os::UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace kw::service
