#include "base/seed.h"

#include <string>

#include "base/hash.h"

namespace kw {

std::uint64_t seed_of(std::string_view name) {
  return std::stoull(sha256_hex(name).substr(0, kSeedBits / 4), nullptr, 16);
}

}  // namespace kw
