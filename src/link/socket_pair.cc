#include "link/socket_pair.h"

#include <array>
#include <cerrno>

#include <sys/socket.h>

namespace kw::link {

Result<os::SocketPair> make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno(errno, "cannot make a socket pair");
  return os::SocketPair{os::UniqueFd(ends[0]), os::UniqueFd(ends[1])};
}

}  // namespace kw::link
