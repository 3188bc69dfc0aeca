// The delays of retries: each is twice the one before it, up to a limit. Callers add their jitter.
#pragma once
#include <algorithm>

namespace kw {

// The delay after the given number of failures in a row, from 1: first, 2 first, 4 first, ..., at
// most `limit`, or `first` where that is larger. A number or a duration.
template <typename Delay>
Delay doubled_delay(Delay first, int failures, Delay limit) {
  Delay out = first;
  for (int i = 1; i < failures && out < limit; ++i) out = std::min<Delay>(out * 2, limit);
  return out;
}

}  // namespace kw
