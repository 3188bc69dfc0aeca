// Seeds by a one-way function.
#include "gym/inputs/seeds.h"

#include <string>

#include "base/hash.h"
#include "base/random.h"

namespace kw::gym {

SecretSeeds::SecretSeeds() {
  for (std::uint64_t& word : secret_) word = entropy_seed();
}

SecretSeeds::SecretSeeds(std::uint64_t known) {
  secret_[0] = known;
}

std::uint64_t SecretSeeds::seed(std::string_view purpose, std::uint64_t number) const {
  std::string message(reinterpret_cast<const char*>(secret_.data()), sizeof secret_);
  message.append(reinterpret_cast<const char*>(&number), sizeof number);
  message.append(
      purpose);  // last and of free length: no two (number, purpose) pairs give one message
  return std::stoull(sha256_hex(message).substr(0, 16), nullptr, 16);
}

}  // namespace kw::gym
