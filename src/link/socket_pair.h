// The two ends of a link.
#pragma once
#include "base/result.h"
#include "os/fd.h"

namespace kw::link {

// AF_UNIX SOCK_STREAM, close-on-exec.
Result<os::SocketPair> make_socket_pair();

}  // namespace kw::link
