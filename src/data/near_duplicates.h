// Near duplicates among millions of sets, without comparing all pairs: MinHash signatures (Broder
// 1997) in bands (Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, 3.4).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kw::data {

inline constexpr std::size_t kMinHashes = 128;
inline constexpr std::size_t kMaxInBand = 64;
using Signature = std::array<std::uint32_t, kMinHashes>;

// The share of equal entries of two signatures estimates the sets' Jaccard similarity, with a
// standard error of at most 0.045.
Signature signature_of(std::span<const std::uint64_t> set);

// Finds near duplicates. Only one thread may use it. Memory: about 500 bytes a kept set.
class NearDuplicates {
 public:
  // threshold: the similarity from which two sets are near duplicates, in [0.3, 1].
  explicit NearDuplicates(double threshold);

  struct Match {
    std::uint32_t index = 0;  // index of the kept set
    double similarity = 0;
  };
  // The first kept set found that is so near; otherwise this one is kept, and nullopt. A pair just
  // at the threshold is found with a chance of 95 %, unless over kMaxInBand kept sets share the
  // band.
  std::optional<Match> find_or_keep(const Signature& signature);
  std::uint32_t kept() const { return static_cast<std::uint32_t>(signatures_.size()); }

 private:
  using Stored = std::array<std::uint16_t, kMinHashes>;  // the low halves

  double similarity(std::uint32_t index, const Stored& stored) const;
  std::uint64_t band_hash(const Stored& stored, std::size_t band) const;
  void insert(const Stored& stored, std::uint32_t index);
  void grow();

  double threshold_;
  std::size_t rows_ = 8;  // entries of a band
  std::vector<Stored> signatures_;
  std::vector<std::uint64_t> slots_;  // open addressing: high half of the hash, index + 1; 0: free
  std::size_t used_ = 0;
};

}  // namespace kw::data
