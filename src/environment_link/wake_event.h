// WakeEvent: other threads wake the thread that polls a channel.
#pragma once
#include "base/result.h"
#include "link/channel.h"
#include "os/fd.h"

namespace kw::environment_link {

class WakeEvent {
 public:
  static Result<WakeEvent> make();

  // Any thread.
  void signal() const;
  // The thread that owns the channel: returns when the channel has something to read or has ended
  // (true), when it takes more of what is queued, or after a signal. with_channel false: after a
  // signal alone.
  bool wait(const link::Channel& channel, bool with_channel) const;

 private:
  explicit WakeEvent(os::UniqueFd fd) : fd_(std::move(fd)) {}
  os::UniqueFd fd_;
};

}  // namespace kw::environment_link
