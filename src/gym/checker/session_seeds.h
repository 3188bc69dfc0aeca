// The secret seeds of one session: each is used once.
#pragma once
#include <cstdint>
#include <optional>

#include "gym/inputs/seeds.h"
#include "task/signature.h"

namespace kw::gym {

// Not thread-safe.
class SessionSeeds {
 public:
  SessionSeeds() = default;
  explicit SessionSeeds(SecretSeeds known) : seeds_(known) {}  // for tests
  std::uint64_t next() {
    return known_ ? known_->seed("known", ++known_used_) : seeds_.seed("session", ++used_);
  }

  // While it lives, next() gives numbers that follow from `seed` alone. They are no secret: no
  // pass that calls on what is made of them decide may be paid.
  class Known {
   public:
    Known(SessionSeeds& seeds, std::uint64_t seed) : seeds_(&seeds) {
      seeds.known_.emplace(seed);
      seeds.known_used_ = 0;
    }
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;
    ~Known() { seeds_->known_.reset(); }

   private:
    SessionSeeds* seeds_;
  };

 private:
  SecretSeeds seeds_;
  std::uint64_t used_ = 0;
  std::optional<SecretSeeds> known_;
  std::uint64_t known_used_ = 0;
};

// For SessionSeeds::Known: a number that follows from the signature alone.
std::uint64_t known_seed_of(const task::Signature& signature);

}  // namespace kw::gym
