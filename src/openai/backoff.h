// Delays before retries: exponential with full jitter, so that clients that failed together do not
// come back together (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
#pragma once
#include <chrono>
#include <mutex>

#include "base/backoff.h"
#include "base/random.h"

namespace kw::openai {

// Any thread. The same seed and order of calls give the same delays.
class Backoff {
 public:
  Backoff(const RetryPolicy& policy, std::uint64_t seed) : policy_(policy), rng_(seed) {}

  // Uniform from 0 to min(max_delay, first_delay * 2^(failures - 1)); failures of this request,
  // from 1.
  std::chrono::milliseconds delay(int failures);

 private:
  const RetryPolicy policy_;
  std::mutex mutex_;
  Rng rng_;
};

}  // namespace kw::openai
