// Seeds of random numbers from the names of what they are for.
#pragma once
#include <cstdint>
#include <string_view>

namespace kw {

// 48 bits of the SHA-256: servers of models and readers of JSON keep no more than 53.
std::uint64_t seed_of(std::string_view name);
inline constexpr int kSeedBits = 48;

}  // namespace kw
