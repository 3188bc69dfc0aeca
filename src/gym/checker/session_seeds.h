// The secret seeds of one session: each is used once.
#pragma once
#include <cstdint>
#include <utility>

#include "gym/inputs/seeds.h"

namespace kw::gym {

// Not thread-safe.
class SessionSeeds {
 public:
  SessionSeeds() = default;
  explicit SessionSeeds(SecretSeeds known) : seeds_(known) {}  // for tests
  std::uint64_t next() { return seeds_.seed("session", ++used_); }

 private:
  SecretSeeds seeds_;
  std::uint64_t used_ = 0;
};

}  // namespace kw::gym
