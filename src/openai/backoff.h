// Delays before retries: exponential with full jitter, so that clients that failed together do not
// come back together (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
#pragma once
#include <chrono>
#include <mutex>

#include "base/random.h"

namespace kw::openai {

// Any thread. The same seed and order of calls give the same delays.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds base, std::chrono::milliseconds cap, std::uint64_t seed)
      : base_(base), cap_(cap), rng_(seed) {}

  // Uniform from 0 to min(cap, base * 2^(failures - 1)); failures of this request, from 1.
  std::chrono::milliseconds delay(int failures);

 private:
  const std::chrono::milliseconds base_, cap_;
  std::mutex mutex_;
  Rng rng_;
};

}  // namespace kw::openai
