// Plain system calls: no code of the server or client under test.
#include "net/testing/raw_client.h"

#include <algorithm>
#include <array>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/check.h"

namespace kw::net::testing {

RawClient::RawClient(std::uint16_t port, int receive_buffer)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  KW_CHECK(fd_.valid());
  timeval most{20, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
  if (receive_buffer > 0)
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  KW_CHECK(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawClient::finish_sending() {
  ::shutdown(fd_.get(), SHUT_WR);
}

std::string RawClient::some() {
  if (!unread_.empty()) return std::exchange(unread_, {});
  std::array<char, 65536> buffer;
  ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : "";
}

std::string RawClient::until(std::string_view text) {
  std::string out;
  for (;;) {
    std::size_t found = out.find(text);
    if (found != std::string::npos) {
      unread_ = out.substr(found + text.size());
      out.resize(found + text.size());
      return out;
    }
    std::string more = some();
    if (more.empty()) return out;
    out += more;
  }
}

std::string RawClient::until_closed() {
  std::string out;
  for (std::string more = some(); !more.empty(); more = some()) out += more;
  return out;
}

RawClient::Answer RawClient::answer(bool to_head) {
  Answer out;
  out.head = until("\r\n\r\n");
  if (out.head.empty()) return out;
  out.status = std::stoi(out.head.substr(out.head.find(' ') + 1));
  if (out.status == 204 || out.status == 100 || to_head) return out;
  if (std::size_t at = out.head.find("Content-Length: "); at != std::string::npos) {
    std::size_t length = std::stoul(out.head.substr(at + 16));
    while (out.body.size() < length) {
      std::string more = some();
      if (more.empty()) return out;
      out.body += more;
    }
    unread_ = out.body.substr(length);
    out.body.resize(length);
  } else if (out.head.find("chunked") != std::string::npos) {
    for (;;) {
      std::size_t size = std::stoul("0" + until("\r\n"), nullptr, 16);
      std::string chunk;
      while (chunk.size() < size + 2) {
        std::string more = some();
        if (more.empty()) return out;
        chunk += more;
      }
      unread_ = chunk.substr(size + 2);
      out.body += chunk.substr(0, size);
      if (size == 0) return out;
    }
  } else {
    out.body = until_closed();
  }
  return out;
}

bool RawClient::readable(std::chrono::milliseconds within) {
  pollfd entry{fd_.get(), POLLIN, 0};
  return !unread_.empty() || ::poll(&entry, 1, static_cast<int>(within.count())) > 0;
}

bool RawClient::closed() {
  while (!some().empty()) {
  }
  return true;
}

void RawClient::reset() {
  linger now{1, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  fd_.reset();
}

RawClient::Answer ask(const Server& server, std::string_view request) {
  RawClient client(server.port());
  client.send(request);
  return client.answer();
}

}  // namespace kw::net::testing
