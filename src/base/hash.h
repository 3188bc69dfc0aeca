// SHA-256 for content keys (problems, candidates, builds, evidence), and a fast 64-bit hash of
// memory for tamper checks under a secret seed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kw {

// Incremental SHA-256; finish() may be called once. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  Sha256& update(std::string_view bytes);
  std::string finish();  // 64 lower-case hex digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

// Two lower-case hex digits a byte.
std::string hex(std::span<const std::uint8_t> bytes);

// Hash of memory at several GB/s. Not collision-proof against someone who knows the seed: the seed
// stays in the checker.
std::uint64_t keyed_hash(std::span<const std::byte> bytes, std::uint64_t secret_seed);

}  // namespace kw
