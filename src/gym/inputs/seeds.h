// Secret seeds for everything that a candidate may see: inputs, poison, canaries, parameters, order
// of calls.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace kw::gym {

// Seeds by purpose and number, SHA-256(secret, purpose, number): a candidate that recovers the seed
// of one tensor from the tensor (xoshiro can be run backwards) learns nothing of any other. Copies
// share the secret; safe from any thread.
class SecretSeeds {
 public:
  SecretSeeds();                              // 256 bits from the operating system
  explicit SecretSeeds(std::uint64_t known);  // for tests and replays

  std::uint64_t seed(std::string_view purpose, std::uint64_t number) const;

 private:
  std::array<std::uint64_t, 4> secret_{};
};

}  // namespace kw::gym
