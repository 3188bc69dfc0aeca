// sendmsg and recvmsg with SCM_RIGHTS.
#include "os/message.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "os/memory.h"

namespace kw::os {
namespace {

constexpr const char* kInFile = "message_in_file";  // the only key of such a packet

Status wait_readable(int socket, std::chrono::milliseconds timeout) {
  auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    int wait_ms = -1;
    if (timeout.count() >= 0) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      wait_ms = static_cast<int>(std::max<std::int64_t>(0, left.count()));
    }
    pollfd poll_entry{socket, POLLIN, 0};
    int ready = ::poll(&poll_entry, 1, wait_ms);
    if (ready > 0) return {};
    if (ready == 0)
      return fail(ErrorCode::kDeadlineExceeded, "no message within {} ms", timeout.count());
    if (errno != EINTR) return fail_errno(errno, "cannot wait for a message");
  }
}

Status send_packet(int socket, const void* data, std::size_t bytes, const std::vector<int>& fds) {
  iovec part{const_cast<void*>(data), bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  std::vector<std::byte> control(CMSG_SPACE(sizeof(int) * fds.size()));
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
  }
  while (::sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET)
      return fail(ErrorCode::kUnavailable, "the other process is gone");
    return fail_errno(errno, "cannot send a message");
  }
  return {};
}

}  // namespace

Status send_message(int socket, const Json& body, const std::vector<int>& fds) {
  const std::string text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxMessageBytes || fds.size() > kMaxMessageFds) {
    return fail(ErrorCode::kResourceExhausted,
                "a message of {} bytes and {} descriptors is too large", text.size(), fds.size());
  }
  if (text.size() <= kMaxPacketBytes) return send_packet(socket, text.data(), text.size(), fds);
  KW_TRY(const UniqueFd file, make_sealed_file("message", text));
  std::vector<int> with_file = fds;
  with_file.push_back(file.get());
  const std::string packet = Json{{kInFile, true}}.dump();
  return send_packet(socket, packet.data(), packet.size(), with_file);
}

Result<Message> receive_message(int socket, std::chrono::milliseconds timeout) {
  KW_TRY_STATUS(wait_readable(socket, timeout));
  std::string text(kMaxPacketBytes, '\0');
  iovec part{text.data(), text.size()};
  std::vector<std::byte> control(CMSG_SPACE(sizeof(int) * (kMaxMessageFds + 1)));
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno != ECONNRESET) return fail_errno(errno, "cannot receive a message");
  Message message;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      message.fds.emplace_back(fd);
    }
  }
  if (got <= 0) return fail(ErrorCode::kUnavailable, "the other process is gone");
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return fail(ErrorCode::kInvalidArgument, "a message was cut off");
  text.resize(static_cast<std::size_t>(got));
  KW_TRY(message.body, parse_json(text));
  if (!message.body.is_object() || !message.body.contains(kInFile)) return message;
  if (message.fds.empty())
    return fail(ErrorCode::kInvalidArgument, "a message's file is not there");
  KW_TRY(text, read_to_end(message.fds.back().get(), kMaxMessageBytes));
  message.fds.pop_back();
  KW_TRY(message.body, parse_json(text));
  return message;
}

Status send_struct(int socket, const void* data, std::size_t bytes) {
  return send_packet(socket, data, bytes, {});
}

Status receive_struct(int socket, void* data, std::size_t bytes,
                      std::chrono::milliseconds timeout) {
  KW_TRY_STATUS(wait_readable(socket, timeout));
  std::vector<std::byte> buffer(bytes + 1);
  ssize_t got = 0;
  do {
    got = ::recv(socket, buffer.data(), buffer.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno != ECONNRESET) return fail_errno(errno, "cannot receive a reply");
  if (got <= 0) return fail(ErrorCode::kUnavailable, "the other process is gone");
  if (static_cast<std::size_t>(got) != bytes)
    return fail(ErrorCode::kInvalidArgument, "a reply of {} bytes instead of {}", got, bytes);
  std::memcpy(data, buffer.data(), bytes);
  return {};
}

}  // namespace kw::os
