#include "openai/backoff.h"

#include <algorithm>

namespace kw::openai {

std::chrono::milliseconds Backoff::delay(int failures) {
  std::chrono::milliseconds most = base_;
  for (int i = 1; i < failures && most < cap_; ++i) most *= 2;
  most = std::min(most, cap_);
  std::lock_guard lock(mutex_);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(most.count()) + 1)));
}

}  // namespace kw::openai
