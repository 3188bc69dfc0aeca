// The seed of an attempt's random draws. It depends on nothing but the run's seed, the problem and
// the attempt's number.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/seed.h"

namespace kw::search {

// purpose: "policy", "answer", as in base/seed.h.
inline std::uint64_t attempt_seed(std::uint64_t seed, const std::string& problem, int attempt,
                                  std::string_view purpose) {
  return seed_of(fmt::format("{}\n{}\n{}\n{}", seed, purpose, attempt, problem));
}

}  // namespace kw::search
