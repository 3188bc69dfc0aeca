#include "openai/backoff.h"

#include <algorithm>

#include "base/backoff.h"

namespace kw::openai {

std::chrono::milliseconds Backoff::delay(int failures) {
  const auto most = std::chrono::round<std::chrono::milliseconds>(
      std::min(policy_.delay(failures), policy_.max_delay));
  std::lock_guard lock(mutex_);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(most.count()) + 1)));
}

}  // namespace kw::openai
