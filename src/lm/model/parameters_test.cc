#include "lm/model/parameters.h"

#include <cstring>

#include <gtest/gtest.h>

namespace kw::lm {
namespace {

ModelConfig small_config() {
  ModelConfig c;
  c.family = Family::kQwen3;
  c.vocabulary = 50;
  c.hidden = 32;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.intermediate = 48;
  c.max_position = 64;
  c.qk_norm = c.qkv_bias = true;
  return c;
}

Parameters drawn(std::uint64_t seed, int threads) {
  Parameters out = Parameters::make(small_config(), WeightType::kFloat32).value();
  initialise(out, seed, threads);
  return out;
}

bool same(const Parameters& a, const Parameters& b) {
  return std::memcmp(a.embedding.data, b.embedding.data, a.bytes()) == 0;
}

TEST(Parameters, NewWeightsAreTheSameWithAnyNumberOfThreads) {
  const Parameters one = drawn(3, 1);
  for (int threads = 2; threads < 6; ++threads) EXPECT_TRUE(same(drawn(3, threads), one));
  EXPECT_FALSE(same(drawn(4, 2), one));
}

}  // namespace
}  // namespace kw::lm
