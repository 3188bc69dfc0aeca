// When a request or a judgement that failed through no fault of its own is made again.
#pragma once
#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "base/backoff.h"
#include "base/random.h"
#include "search/attempt_seed.h"

namespace kw::search {

struct Retries {
  static constexpr double kMaxSeconds = 60;  // limit of a pause, unless the first one is longer

  int tries = 1;             // in all
  double first_seconds = 1;  // before the second try, doubled each time
  std::uint64_t seed = 0;

  // Whether there is a try after `made`.
  bool more_after(int made) const { return made < tries; }

  // Seconds before the try after `made`: between half of them and all, drawn by attempt.
  double pause(const std::string& problem, int attempt, int made) const {
    const double whole = doubled_delay(first_seconds, made, kMaxSeconds);
    Rng rng(attempt_seed(seed, problem, attempt, fmt::format("pause {}", made)));
    return whole * (0.5 + rng.uniform() / 2);
  }
};

}  // namespace kw::search
