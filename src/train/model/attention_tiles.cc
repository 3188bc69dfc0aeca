#include "train/model/attention_tiles.h"

#include <algorithm>

namespace kw::train {
namespace {

std::int32_t tiles_of(const AttentionTile& tile) {
  return static_cast<std::int32_t>((tile[1] + kAttentionTile - 1) / kAttentionTile);
}

}  // namespace

AttentionTiles attention_tiles(std::span<const std::int64_t> bounds) {
  AttentionTiles out;
  for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
    AttentionTile tile{static_cast<std::int32_t>(bounds[s]),
                       static_cast<std::int32_t>(bounds[s + 1] - bounds[s]),
                       static_cast<std::int32_t>(out.statistics), 0};
    const std::int32_t count = tiles_of(tile);
    for (; tile[3] < count; ++tile[3]) out.of_queries.push_back(tile);
    out.statistics += count * kAttentionTile;
  }
  out.of_keys = out.of_queries;
  std::ranges::stable_sort(out.of_queries, std::ranges::greater(),
                           [](const AttentionTile& tile) { return tile[3]; });
  std::ranges::stable_sort(out.of_keys, std::ranges::greater(),
                           [](const AttentionTile& tile) { return tiles_of(tile) - tile[3]; });
  return out;
}

}  // namespace kw::train
