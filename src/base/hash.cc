// SHA-256 by OpenSSL; the keyed hash is a multiply-and-fold over four lanes (the construction of
// wyhash).
#include "base/hash.h"

#include <array>
#include <cstring>

#include <openssl/evp.h>

#include "base/check.h"

namespace kw {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  KW_CHECK(state_->context != nullptr);
  KW_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

Sha256& Sha256::update(std::string_view bytes) {
  KW_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
  return *this;
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  KW_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1);
  return hex(std::span(digest).first(size));
}

std::string sha256_hex(std::string_view bytes) {
  return Sha256().update(bytes).finish();
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

namespace {

constexpr std::uint64_t kPrime0 = 0xa0761d6478bd642fULL;
constexpr std::uint64_t kPrime1 = 0xe7037ed1a0b428dbULL;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t load(const std::byte* p) {
  std::uint64_t value = 0;
  std::memcpy(&value, p, sizeof value);
  return value;
}

}  // namespace

std::uint64_t keyed_hash(std::span<const std::byte> bytes, std::uint64_t secret_seed) {
  std::array<std::uint64_t, 4> lanes = {secret_seed ^ kPrime0, secret_seed ^ kPrime1,
                                        secret_seed + kPrime0, secret_seed + kPrime1};
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 64; left -= 64, p += 64) {
    for (std::size_t i = 0; i < 4; ++i)
      lanes[i] = fold(load(p + 16 * i) ^ kPrime0 ^ lanes[i], load(p + 16 * i + 8) ^ kPrime1);
  }
  std::array<std::byte, 64> tail{};
  if (left > 0) std::memcpy(tail.data(), p, left);
  for (std::size_t i = 0; i < 4; ++i)
    lanes[i] = fold(load(tail.data() + 16 * i) ^ kPrime0 ^ lanes[i],
                    load(tail.data() + 16 * i + 8) ^ kPrime1);
  return fold(fold(lanes[0] ^ bytes.size(), lanes[1]) ^ kPrime0,
              fold(lanes[2], lanes[3]) ^ kPrime1);
}

}  // namespace kw
