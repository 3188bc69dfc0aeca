// The number of flushes from a rest and from what was seen.
#include "flushes.h"

#include <algorithm>

namespace kw::gpu_executor {

void Flushes::forget_launching() {
  launching_ = {};
}

void Flushes::saw_launching(std::chrono::nanoseconds host) {
  launching_ = std::max(host, launching_ * 3 / 4);
}

void Flushes::saw_flushing(std::chrono::nanoseconds all, int count) {
  one_ = all / std::max(1, count);
}

int Flushes::before_call(std::chrono::nanoseconds rest) const {
  const int least = rest <= kNoRest ? kMin : rest <= kShortRest ? kAfterShortRest : kAfterRest;
  const bool is_known = launching_.count() > 0 && one_.count() > 0;
  if (!is_known) return std::max(least, kAfterShortRest);
  // Half as much to spare.
  const auto launches = 3 * launching_ / (2 * one_) + 1;
  return static_cast<int>(std::clamp<std::int64_t>(launches, least, kMaxFlushes));
}

}  // namespace kw::gpu_executor
