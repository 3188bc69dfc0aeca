// Channel: JSON messages over a stream socket, without waiting. Whoever owns it polls.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "link/frame.h"
#include "os/fd.h"

namespace kw::link {

// One thread.
class Channel {
 public:
  // Every call on the socket is one that does not wait, whatever mode it is in.
  explicit Channel(os::UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  // Goes out with flush(). kResourceExhausted for a message over kMaxFrameBytes.
  Status queue(const Json& message);
  std::size_t queued_bytes() const { return out_.size() - written_; }
  // As much as the socket takes now. kUnavailable when the other side is gone.
  Status flush();

  // Appends the messages that have come. With an error too: those before it. kUnavailable when the
  // other side is gone, kInvalidArgument for what is no message; the channel is then of no more
  // use.
  Status receive(std::vector<Json>& messages);

 private:
  os::UniqueFd socket_;
  std::string out_;
  std::size_t written_ = 0;  // of out_
  FrameParser in_;
};

}  // namespace kw::link
