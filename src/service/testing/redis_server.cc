#include "service/testing/redis_server.h"

#include <filesystem>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/fd.h"
#include "os/pause.h"

namespace kw::service {
namespace {

constexpr const char* kRedisProgram = "/usr/bin/redis-server";

std::uint16_t free_port() {
  const os::UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(probe.get(), any, size), 0);
  EXPECT_EQ(::getsockname(probe.get(), any, &size), 0);
  return ntohs(address.sin_port);
}

}  // namespace

bool RedisServer::is_here() {
  return std::filesystem::exists(kRedisProgram);
}

RedisServer::RedisServer() : folder_(os::TempDir::make("kw-redis-").value()) {
  address_.port = free_port();
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
