// File descriptors.
#include "os/fd.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace kw::os {

void UniqueFd::reset(int fd) {
  int old = std::exchange(fd_, fd);
  if (old >= 0) ::close(old);
}

Result<UniqueFd> UniqueFd::duplicate() const {
  int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return fail_errno(errno, "cannot duplicate a descriptor");
  return UniqueFd(copy);
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

static Result<SocketPair> socket_pair_of(int type) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno(errno, "cannot make a socket pair");
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}
Result<SocketPair> make_socket_pair() {
  return socket_pair_of(SOCK_STREAM);
}
Result<SocketPair> make_message_socket_pair() {
  return socket_pair_of(SOCK_SEQPACKET);
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return fail_errno(errno, "cannot write");
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> read_to_end(int fd, std::size_t max_bytes) {
  std::string out;
  std::array<char, 65536> chunk;
  while (true) {
    ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      return fail_errno(errno, "cannot read");
    }
    if (got == 0) return out;
    if (out.size() + static_cast<std::size_t>(got) > max_bytes) {
      return fail(ErrorCode::kResourceExhausted, "more than {} bytes", max_bytes);
    }
    out.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

Result<std::string> read_whole(int fd, std::size_t max_bytes) {
  std::string out;
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t got = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(out.size()));
    if (got < 0) {
      if (errno == EINTR) continue;
      return fail_errno(errno, "cannot read");
    }
    if (got == 0) return out;
    if (out.size() + static_cast<std::size_t>(got) > max_bytes)
      return fail(ErrorCode::kResourceExhausted, "more than {} bytes", max_bytes);
    out.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace kw::os
