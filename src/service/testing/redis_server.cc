#include "service/testing/redis_server.h"

#include <cstddef>
#include <filesystem>
#include <random>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "os/pause.h"

namespace kw::service {
namespace {

constexpr const char* kRedisProgram = "/usr/bin/redis-server";

struct OwnPort {
  os::UniqueFd mark;
  std::uint16_t port;
};

template <typename Address>
bool binds(const os::UniqueFd& socket, const Address& address, std::size_t size) {
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                static_cast<socklen_t>(size)) == 0;
}

// The kernel gives none of these ports to a connection. The mark is that of tests/service/ports.py:
// while it is open no other test takes the port, also when the server behind it is down.
OwnPort own_port() {
  std::random_device random;
  while (true) {
    const auto port = static_cast<std::uint16_t>(20000 + random() % 10000);
    os::UniqueFd mark(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const std::string name = fmt::format("kernelwright-test-port-{}", port);
    sockaddr_un abstract{};
    abstract.sun_family = AF_UNIX;
    name.copy(&abstract.sun_path[1], sizeof(abstract.sun_path) - 1);
    const os::UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (binds(mark, abstract, offsetof(sockaddr_un, sun_path) + 1 + name.size()) &&
        binds(probe, address, sizeof(address)))
      return {std::move(mark), port};
  }
}

}  // namespace

bool RedisServer::is_here() {
  return std::filesystem::exists(kRedisProgram);
}

RedisServer::RedisServer() : folder_(os::TempDir::make("kw-redis-").value()) {
  OwnPort own = own_port();
  address_.port = own.port;
  mark_ = std::move(own.mark);
}

void RedisServer::start(const std::vector<std::string>& more) {
  std::vector<std::string> argv = {kRedisProgram,
                                   "--port",
                                   std::to_string(address_.port),
                                   "--bind",
                                   "127.0.0.1",
                                   "--dir",
                                   folder_.path().string(),
                                   "--logfile",
                                   (folder_.path() / "log").string(),
                                   "--appendonly",
                                   "yes",
                                   "--appendfsync",
                                   "always",
                                   "--save",
                                   ""};
  argv.insert(argv.end(), more.begin(), more.end());
  running_.reset();
  running_.emplace(os::ChildProgram::start(argv).value());
  for (int i = 0; i < 600; ++i) {  // at most 30 s
    auto opened = RedisConnection::open(address_, "", std::chrono::seconds(5));
    if (opened && opened->call({"PING"})) return;
    (void)os::pause(std::chrono::milliseconds(50), {});
  }
  FAIL() << "redis-server does not begin";
}

RedisReply RedisServer::call(const std::vector<std::string>& words) const {
  auto redis = RedisConnection::open(address_, "", std::chrono::seconds(5));
  EXPECT_TRUE(redis.has_value());
  auto out = redis->call(words);
  EXPECT_TRUE(out.has_value()) << (out ? "" : out.error().message());
  return out.value_or(RedisReply{});
}

}  // namespace kw::service
