#include "net/testing/scripted_peer.h"

#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/check.h"

namespace kw::net::testing {
namespace {

std::string read_until(int fd, std::string_view end) {
  std::string all;
  char c = 0;
  while (all.find(end) == std::string::npos && ::recv(fd, &c, 1, 0) == 1) all += c;
  return all;
}

}  // namespace

ScriptedPeer::ScriptedPeer(std::vector<std::string> scripts) : scripts_(std::move(scripts)) {
  listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  KW_CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  KW_CHECK(::listen(listener_.get(), 8) == 0);
  socklen_t size = sizeof(address);
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this] { serve(); });
}

std::string ScriptedPeer::url() const {
  return fmt::format("http://127.0.0.1:{}/", port_);
}

std::string ScriptedPeer::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

void ScriptedPeer::serve() {
  for (std::string script : scripts_) {
    os::UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ++connections_;
    const std::string header = read_until(peer.get(), "\r\n\r\n");
    {
      const std::lock_guard lock(mutex_);
      received_ += header;
    }
    const bool stays = script.ends_with("..."), hears_more = script.ends_with("..1");
    if (stays || hears_more) script.resize(script.size() - 3);
    ::send(peer.get(), script.data(), script.size(), MSG_NOSIGNAL);
    if (stays) read_until(peer.get(), "never");
    if (hears_more) read_until(peer.get(), "\r\n\r\n");
  }
}

}  // namespace kw::net::testing
