// For tests: a server that says what it was told to, whatever it is asked.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "os/fd.h"

namespace kw::net::testing {

// Accepts connections one after the other; sends each script to one connection, when a request's
// header has come, and closes it ("..." at the end: keeps it open until the client closes; "..1":
// until the header of another request has come).
class ScriptedPeer {
 public:
  explicit ScriptedPeer(std::vector<std::string> scripts);
  std::string url() const;
  int connections() const { return connections_; }
  // The headers of all requests that it has answered.
  std::string received() const;

 private:
  void serve();

  std::vector<std::string> scripts_;
  os::UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  mutable std::mutex mutex_;
  std::string received_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace kw::net::testing
