// Private: connections of the client that wait for their next request.
#pragma once
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/client_connection.h"

namespace kw::net {

// Thread-safe.
class ConnectionPool {
 public:
  ConnectionPool(std::size_t most_each, std::chrono::milliseconds keep)
      : most_each_(most_each), keep_(keep) {}

  // The one used last, or nullptr. Those that are too old or were closed by the peer are dropped.
  std::unique_ptr<ClientConnection> take(const std::string& origin);
  void put(const std::string& origin, std::unique_ptr<ClientConnection> connection);

 private:
  struct Idle {
    std::unique_ptr<ClientConnection> connection;
    ClientConnection::Clock::time_point since;
  };
  void drop_old_locked();

  const std::size_t most_each_;
  const std::chrono::milliseconds keep_;
  std::mutex mutex_;
  std::map<std::string, std::vector<Idle>> idle_;
};

}  // namespace kw::net
