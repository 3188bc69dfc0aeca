// A real redis-server of a test's, on a port of 127.0.0.1 and in a folder of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "os/child_program.h"
#include "os/fd.h"
#include "os/file.h"
#include "service/redis_connection.h"

namespace kw::service {

class RedisServer {
 public:
  static bool is_here();
  RedisServer();

  // It listens when it returns. more: settings, "--appendonly", "no". A GoogleTest failure when it
  // does not begin.
  void start(const std::vector<std::string>& more = {});
  void kill() { running_.reset(); }  // SIGKILL
  const RedisAddress& address() const { return address_; }
  // One call over a connection of its own; a GoogleTest failure when it fails.
  RedisReply call(const std::vector<std::string>& words) const;

 private:
  os::TempDir folder_;
  os::UniqueFd mark_;  // the port is this server's while it is open
  RedisAddress address_;
  std::optional<os::ChildProgram> running_;
};

}  // namespace kw::service
