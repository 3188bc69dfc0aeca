#include "lm/sampling/sampling.h"

#include <array>
#include <cmath>

namespace kw::lm {
namespace {

using Counter = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

struct Product {
  std::uint32_t low, high;
};

Product multiply(std::uint32_t a, std::uint32_t b) {
  std::uint64_t wide = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(wide), static_cast<std::uint32_t>(wide >> 32U)};
}

// Ten rounds; the constants are the paper's.
Counter philox(Counter counter, Key key) {
  for (int round = 0; round < 10; ++round) {
    Product first = multiply(0xD2511F53U, counter[0]), second = multiply(0xCD9E8D57U, counter[2]);
    counter = {second.high ^ counter[1] ^ key[0], second.low, first.high ^ counter[3] ^ key[1],
               first.low};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

}  // namespace

bool truncates(const SamplingSettings& s) {
  return s.top_k > 0 || s.top_p < 1 || s.min_p > 0;
}

Status check(const SamplingSettings& s) {
  if (!(s.temperature >= 0) || s.temperature > 100)
    return fail(ErrorCode::kInvalidArgument, "temperature: expected 0 to 100, not {}",
                s.temperature);
  if (s.top_k < 0) return fail(ErrorCode::kInvalidArgument, "top_k: expected 0 or more");
  if (!(s.top_p > 0) || s.top_p > 1)
    return fail(ErrorCode::kInvalidArgument, "top_p: expected more than 0, at most 1, not {}",
                s.top_p);
  if (!(s.min_p >= 0) || s.min_p > 1)
    return fail(ErrorCode::kInvalidArgument, "min_p: expected 0 to 1, not {}", s.min_p);
  return {};
}

double uniform_at(std::uint64_t seed, std::uint64_t sequence, std::uint32_t position) {
  Counter counter = {static_cast<std::uint32_t>(sequence),
                     static_cast<std::uint32_t>(sequence >> 32U), position, 0};
  Key key = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
  Counter words = philox(counter, key);
  std::uint64_t bits = (std::uint64_t{words[0]} << 32U) | words[1];
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

}  // namespace kw::lm
