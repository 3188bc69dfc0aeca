#include "service/testing/redis_proxy.h"

#include <array>
#include <list>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace kw::service {
namespace {

constexpr int kLookMs = 20;  // between looks for the end

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(port);
  return out;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

RedisProxy::RedisProxy(std::uint16_t to, std::function<void(std::string_view)> before)
    : to_(to),
      before_(std::move(before)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener_.get(), any, size), 0);
  EXPECT_EQ(::listen(listener_.get(), 8), 0);
  EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

void RedisProxy::serve(const std::stop_token& stop) {
  std::list<std::jthread> connections;
  pollfd waited{listener_.get(), POLLIN, 0};
  while (!stop.stop_requested()) {
    if (::poll(&waited, 1, kLookMs) <= 0) continue;
    os::UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) continue;
    connections.emplace_back(
        [this, client = std::move(client)](const std::stop_token& end) { pass(end, client); });
  }
}

// Until one side closes.
void RedisProxy::pass(const std::stop_token& stop, const os::UniqueFd& client) const {
  const os::UniqueFd redis(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(to_);
  if (::connect(redis.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return;
  std::array<pollfd, 2> waited = {pollfd{client.get(), POLLIN, 0}, pollfd{redis.get(), POLLIN, 0}};
  std::array<char, 65536> bytes;
  while (!stop.stop_requested()) {
    if (::poll(waited.data(), waited.size(), kLookMs) <= 0) continue;
    for (std::size_t from = 0; from < 2; ++from) {
      if (waited.at(from).revents == 0) continue;
      const ssize_t got = ::recv(waited.at(from).fd, bytes.data(), bytes.size(), 0);
      if (got <= 0) return;
      const std::string_view sent(bytes.data(), static_cast<std::size_t>(got));
      if (from == 0) before_(sent);
      if (!send_all(waited.at(1 - from).fd, sent)) return;
    }
  }
}

}  // namespace kw::service
