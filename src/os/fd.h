// UniqueFd owns one file descriptor; whole reads and writes over descriptors.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace kw::os {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);
  Result<UniqueFd> duplicate() const;  // close-on-exec

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd read_end, write_end;
};
Result<Pipe> make_pipe();  // close-on-exec

struct SocketPair {
  UniqueFd first, second;
};
Result<SocketPair> make_socket_pair();          // AF_UNIX SOCK_STREAM, close-on-exec
Result<SocketPair> make_message_socket_pair();  // AF_UNIX SOCK_SEQPACKET, close-on-exec

Status write_all(int fd, std::string_view bytes);
// From where it stands until its end; kResourceExhausted over max_bytes.
Result<std::string> read_to_end(int fd, std::size_t max_bytes);
// The whole of a file, wherever it stands: a descriptor that was handed over stands where any of
// its holders left it, and others may read it at the same time. Errors as above; no pipes.
Result<std::string> read_whole(int fd, std::size_t max_bytes);

}  // namespace kw::os
