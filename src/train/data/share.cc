#include "train/data/share.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace kw::train {

std::vector<Sample> share_of(std::span<const Sample> samples, int rank, int ranks) {
  if (ranks == 1) return {samples.begin(), samples.end()};
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t i) { return samples[i].size(); });
  std::vector<std::size_t> tokens(static_cast<std::size_t>(ranks)), mine;
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(tokens);
    *least += samples[i].size() - 1;
    if (least - tokens.begin() == rank) mine.push_back(i);
  }
  std::ranges::sort(mine);
  std::vector<Sample> out;
  for (const std::size_t i : mine) out.push_back(samples[i]);
  return out;
}

}  // namespace kw::train
