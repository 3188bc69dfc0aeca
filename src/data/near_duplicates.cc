#include "data/near_duplicates.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/random.h"

namespace kw::data {
namespace {

// x -> (a * x + b) mod 2^64, upper half: a is odd.
struct HashFamily {
  std::array<std::uint64_t, kMinHashes> a{}, b{};
  HashFamily() {
    Rng rng(0x6d696e68617368);
    for (std::size_t i = 0; i < kMinHashes; ++i) {
      a[i] = rng.next() | 1U;
      b[i] = rng.next();
    }
  }
};

std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 33U)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33U)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33U);
}

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

Signature signature_of(std::span<const std::uint64_t> set) {
  static const HashFamily family;
  Signature out;
  out.fill(std::numeric_limits<std::uint32_t>::max());
  for (std::uint64_t element : set) {
    for (std::size_t i = 0; i < kMinHashes; ++i) {
      const auto value = static_cast<std::uint32_t>((family.a[i] * element + family.b[i]) >> 32U);
      out[i] = std::min(out[i], value);
    }
  }
  return out;
}

NearDuplicates::NearDuplicates(double threshold) : threshold_(threshold), slots_(kFirstSlots) {
  // The widest band at which a pair at the threshold shares one of 128 / rows bands with a chance
  // of 0.95: 1 - (1 - t^rows)^(128 / rows).
  for (rows_ = 32; rows_ > 1; rows_ /= 2) {
    double shared = 1, missed = 1;
    for (std::size_t i = 0; i < rows_; ++i) shared *= threshold;
    for (std::size_t i = 0; i < kMinHashes / rows_; ++i) missed *= 1 - shared;
    if (missed < 0.05) break;
  }
}

double NearDuplicates::similarity(std::uint32_t index, const Stored& stored) const {
  const Stored& other = signatures_[index];
  std::size_t same = 0;
  for (std::size_t i = 0; i < kMinHashes; ++i) same += stored[i] == other[i] ? 1U : 0U;
  return static_cast<double>(same) / static_cast<double>(kMinHashes);
}

std::uint64_t NearDuplicates::band_hash(const Stored& stored, std::size_t band) const {
  std::uint64_t out = band + 1;
  for (std::size_t i = band * rows_; i < (band + 1) * rows_; ++i)
    out = scrambled(out * 0x9e3779b97f4a7c15ULL + stored[i]);
  return out;
}

std::optional<NearDuplicates::Match> NearDuplicates::find_or_keep(const Signature& signature) {
  Stored stored{};
  for (std::size_t i = 0; i < kMinHashes; ++i) stored[i] = static_cast<std::uint16_t>(signature[i]);
  const std::size_t bands = kMinHashes / rows_;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t band = 0; band < bands; ++band) {
    const std::uint64_t hash = band_hash(stored, band);
    for (std::size_t at = hash & mask; slots_[at] != 0; at = (at + 1) & mask) {
      if (slots_[at] >> 32U != hash >> 32U) continue;
      const auto index = static_cast<std::uint32_t>(slots_[at]) - 1;
      const double near = similarity(index, stored);
      if (near >= threshold_) return Match{index, near};
    }
  }
  KW_CHECK(signatures_.size() < std::numeric_limits<std::uint32_t>::max() - 1);
  const auto index = static_cast<std::uint32_t>(signatures_.size());
  signatures_.push_back(stored);
  if ((used_ + bands) * 10 > slots_.size() * 6) grow();
  insert(stored, index);
  return std::nullopt;
}

void NearDuplicates::insert(const Stored& stored, std::uint32_t index) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t band = 0; band < kMinHashes / rows_; ++band) {
    const std::uint64_t hash = band_hash(stored, band);
    std::size_t at = hash & mask, same = 0;
    for (; slots_[at] != 0; at = (at + 1) & mask)
      same += slots_[at] >> 32U == hash >> 32U ? 1U : 0U;
    if (same >= kMaxInBand) continue;
    slots_[at] = (hash >> 32U << 32U) | (index + 1);
    ++used_;
  }
}

void NearDuplicates::grow() {
  slots_.assign(slots_.size() * 2, 0);
  used_ = 0;
  for (std::size_t i = 0; i + 1 < signatures_.size(); ++i)
    insert(signatures_[i], static_cast<std::uint32_t>(i));
}

}  // namespace kw::data
