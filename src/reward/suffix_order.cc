// Ranks by the first k symbols are refined to ranks by 2k until all differ.
#include "reward/suffix_order.h"

#include <algorithm>
#include <numeric>

namespace kw::reward {
namespace {

using Numbers = std::vector<std::uint32_t>;

// Ranks of the symbols themselves, from 0 without gaps.
Numbers symbol_ranks(std::span<const std::uint32_t> text) {
  Numbers symbols(text.begin(), text.end());
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  Numbers ranks(text.size());
  std::transform(text.begin(), text.end(), ranks.begin(), [&](std::uint32_t symbol) {
    auto at = std::lower_bound(symbols.begin(), symbols.end(), symbol);
    return static_cast<std::uint32_t>(at - symbols.begin());
  });
  return ranks;
}

// Writes `items` into `order`, sorted by rank; equal ranks keep their order.
void counting_sort(const Numbers& items, const Numbers& rank, std::uint32_t classes, Numbers& count,
                   Numbers& order) {
  count.assign(classes + 1, 0);
  for (std::uint32_t item : items) ++count[rank[item] + 1];
  std::partial_sum(count.begin(), count.end(), count.begin());
  for (std::uint32_t item : items) order[count[rank[item]]++] = item;
}

Numbers sorted_suffixes(std::span<const std::uint32_t> text, Numbers& rank) {
  auto n = static_cast<std::uint32_t>(text.size());
  rank = symbol_ranks(text);
  std::uint32_t classes = *std::max_element(rank.begin(), rank.end()) + 1;
  Numbers order(n), by_second(n), next_rank(n), count;
  std::iota(by_second.begin(), by_second.end(), 0U);
  counting_sort(by_second, rank, classes, count, order);
  for (std::uint32_t k = 1; classes < n; k *= 2) {
    // By the second half: suffixes without one come first.
    std::uint32_t filled = 0;
    for (std::uint32_t i = n - std::min(k, n); i < n; ++i) by_second[filled++] = i;
    for (std::uint32_t i : order)
      if (i >= k) by_second[filled++] = i - k;
    counting_sort(by_second, rank, classes, count, order);
    auto second = [&](std::uint32_t i) { return i + k < n ? rank[i + k] + 1 : 0; };
    classes = 0;
    for (std::uint32_t at = 0; at < n; ++at) {
      bool differs = at > 0 && (rank[order[at]] != rank[order[at - 1]] ||
                                second(order[at]) != second(order[at - 1]));
      if (differs) ++classes;
      next_rank[order[at]] = classes;
    }
    ++classes;
    rank.swap(next_rank);
  }
  return order;
}

}  // namespace

SuffixOrder suffix_order(std::span<const std::uint32_t> text) {
  SuffixOrder out;
  if (text.empty()) return out;
  Numbers rank;
  out.position = sorted_suffixes(text, rank);
  out.lcp.assign(text.size(), 0);
  std::uint32_t common = 0;
  for (std::uint32_t i = 0; i < text.size(); ++i) {
    if (rank[i] == 0) {
      common = 0;
      continue;
    }
    std::uint32_t j = out.position[rank[i] - 1];
    while (std::max(i, j) + common < text.size() && text[i + common] == text[j + common]) ++common;
    out.lcp[rank[i]] = common;
    if (common > 0) --common;
  }
  return out;
}

}  // namespace kw::reward
