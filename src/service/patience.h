// Patience: when a call that failed on its way to a server is tried again. Pure: the caller has the
// clock and waits.
#pragma once
#include <chrono>
#include <optional>

#include "base/error.h"

namespace kw::service {

class Patience {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // It ends at `end`.
  explicit Patience(Time end) : end_(end) {}

  // How long to wait before the next try; nullopt: there is none, and the error is the call's.
  // Other errors than those of the way, and of a server that is full, are final at once. asked: how
  // long the server asks to wait; where the patience ends before, the last try is at its end.
  std::optional<std::chrono::milliseconds> pause_after(
      const Error& error, Time now, std::optional<std::chrono::seconds> asked = std::nullopt);

 private:
  Time end_;
  std::chrono::milliseconds pause_{100};
};

}  // namespace kw::service
