// Secret seeds: each purpose and number has its own, the same by the same secret.
#include "gym/inputs/seeds.h"

#include <set>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

TEST(SecretSeeds, EachPurposeAndNumberHasItsOwn) {
  const SecretSeeds secret(7);
  std::set<std::uint64_t> seeds;
  for (const char* purpose : {"", "inputs", "inputs1", "audit"})
    for (std::uint64_t number = 0; number < 100; ++number)
      seeds.insert(secret.seed(purpose, number));
  EXPECT_EQ(seeds.size(), 400U);
}

TEST(SecretSeeds, AreTheSameBySecretAndNoOthers) {
  EXPECT_EQ(SecretSeeds(7).seed("inputs", 3), SecretSeeds(7).seed("inputs", 3));
  EXPECT_NE(SecretSeeds(7).seed("inputs", 3), SecretSeeds(8).seed("inputs", 3));
  EXPECT_NE(SecretSeeds().seed("inputs", 3), SecretSeeds().seed("inputs", 3));
}

}  // namespace
}  // namespace kw::gym
