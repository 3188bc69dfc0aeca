// A connection whose other machine has gone without a word, or whose network is down, ends after
// kDeadPeerTime, whether bytes are under way or an answer is waited for.
#pragma once
#include <chrono>

namespace kw::net {

inline constexpr std::chrono::seconds kDeadPeerTime{15};

// Sets it for a TCP socket; where the kernel refuses, it stays as it is.
void notice_dead_peer(int socket);

}  // namespace kw::net
