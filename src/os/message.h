// Control messages: one JSON object and file descriptors per SOCK_SEQPACKET packet
// (docs/protocol.md). A longer object lies in a memory file, whose descriptor comes last.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/fd.h"

namespace kw::os {

inline constexpr std::size_t kMaxPacketBytes = std::size_t{64} * 1024;          // JSON text
inline constexpr std::size_t kMaxMessageBytes = std::size_t{16} * 1024 * 1024;  // in a file
inline constexpr std::size_t kMaxMessageFds = 240;

struct Message {
  Json body;
  std::vector<UniqueFd> fds;
};

// Borrows the descriptors. kUnavailable when the other side is gone, kResourceExhausted for a
// message over the limits.
Status send_message(int socket, const Json& body, const std::vector<int>& fds = {});
// kUnavailable at end of file, kDeadlineExceeded when nothing came in time; a negative timeout
// waits for ever. For messages of trusted senders: the JSON parser is bounded, yet nothing of an
// executor may be read this way.
Result<Message> receive_message(int socket, std::chrono::milliseconds timeout);

// A fixed-size struct, the only thing that comes back from a hostile process. Any other size is
// kInvalidArgument.
Status send_struct(int socket, const void* data, std::size_t bytes);
Status receive_struct(int socket, void* data, std::size_t bytes, std::chrono::milliseconds timeout);

}  // namespace kw::os
