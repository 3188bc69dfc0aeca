// The delays of retries: each is twice the one before it, up to a limit. Callers add their jitter.
#pragma once
#include <algorithm>
#include <chrono>

namespace kw {

// The delay after the given number of failures in a row, from 1: first, 2 first, 4 first, ..., at
// most `limit`, or `first` where that is larger. A number or a duration.
template <typename Delay>
Delay doubled_delay(Delay first, int failures, Delay limit) {
  Delay out = first;
  for (int i = 1; i < failures && out < limit; ++i) out = std::min<Delay>(out * 2, limit);
  return out;
}

// How often something that may fail is tried, and how long the delays between the tries are.
struct RetryPolicy {
  using Delay = std::chrono::duration<double>;

  int tries = 1;         // in all, the first included
  Delay first_delay{1};  // before the second try, doubled each time
  Delay max_delay{60};   // limit of a delay, unless first_delay is longer

  bool has_try_after(int failures) const { return failures < tries; }
  Delay delay(int failures) const { return doubled_delay(first_delay, failures, max_delay); }
};

}  // namespace kw
