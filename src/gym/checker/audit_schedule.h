// AuditSchedule: which blocks of a measurement are audited.
#pragma once
#include <cstdint>

#include "base/random.h"

namespace kw::gym {

// A secret block among the first five is audited, another one among the fifteen that follow, and so
// on: each time among three times as many as there were before.
class AuditSchedule {
 public:
  explicit AuditSchedule(std::uint64_t secret_seed)
      : rng_(secret_seed), next_(rng_.below(kFirst)) {}

  // To be asked for every block, in order.
  bool due(std::int64_t block) {
    if (static_cast<std::uint64_t>(block) != next_) return false;
    next_ = end_ + rng_.below((kGrowth - 1) * end_);
    end_ *= kGrowth;
    return true;
  }

 private:
  static constexpr std::uint64_t kFirst = 5, kGrowth = 4;
  Rng rng_;
  std::uint64_t next_;
  std::uint64_t end_ = kFirst;
};

}  // namespace kw::gym
