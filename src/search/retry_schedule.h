// When a request or a judgement that failed through no fault of its own is made again.
#pragma once
#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "base/backoff.h"
#include "base/random.h"
#include "search/attempt_seed.h"

namespace kw::search {

// The tries of a run: the jitter of their delays is drawn by attempt, so that a run replays.
struct RetrySchedule {
  RetryPolicy policy;
  std::uint64_t seed = 0;

  // Whether there is a try after `made`.
  bool more_after(int made) const { return policy.has_try_after(made); }

  // Seconds before the try after `made`: between half of the policy's delay and all of it.
  double pause(const std::string& problem, int attempt, int made) const {
    const double whole = policy.delay(made).count();
    Rng rng(attempt_seed(seed, problem, attempt, fmt::format("pause {}", made)));
    return whole * (0.5 + rng.uniform() / 2);
  }
};

}  // namespace kw::search
