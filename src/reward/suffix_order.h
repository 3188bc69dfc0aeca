// The suffix array of a text over any alphabet, with the lengths of common prefixes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace kw::reward {

struct SuffixOrder {
  std::vector<std::uint32_t> position;  // of each suffix, in lexicographic order
  std::vector<std::uint32_t> lcp;       // of each with the one before; the first: 0
};

// Prefix doubling with counting sorts (Manber and Myers 1993), common prefixes by Kasai et al.
// 2001: O(n log r) time for a longest repeat of r, O(n) memory.
SuffixOrder suffix_order(std::span<const std::uint32_t> text);

}  // namespace kw::reward
