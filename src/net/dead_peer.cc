#include "net/dead_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace kw::net {

void notice_dead_peer(int socket) {
  constexpr int kProbes = 3;
  constexpr int kPause = static_cast<int>(kDeadPeerTime.count()) / kProbes;  // seconds
  const auto set = [socket](int level, int name, int value) {
    (void)::setsockopt(socket, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kPause);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kPause);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  // Bytes that nobody acknowledges end a connection as well.
  set(IPPROTO_TCP, TCP_USER_TIMEOUT,
      static_cast<int>(std::chrono::milliseconds(kDeadPeerTime).count()));
}

}  // namespace kw::net
