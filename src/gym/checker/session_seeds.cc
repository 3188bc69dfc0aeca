// Seeds that are the same in all sessions.
#include "gym/checker/session_seeds.h"

#include <string>

#include "base/hash.h"

namespace kw::gym {

std::uint64_t known_seed_of(const task::Signature& signature) {
  return std::stoull(sha256_hex(task::to_json(signature).dump()).substr(0, 16), nullptr, 16);
}

}  // namespace kw::gym
