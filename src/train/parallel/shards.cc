#include "train/parallel/shards.h"

#include <algorithm>

namespace kw::train {

std::vector<Shard> make_shards(std::int64_t total, int ranks, const std::vector<Shard>& whole) {
  constexpr std::int64_t kLine = 512;
  const std::int64_t lines = (total + kLine - 1) / kLine;
  auto border = [&](int rank) {
    const std::int64_t wanted = std::min(total, lines * rank / ranks * kLine);
    const auto part = std::ranges::find_if(
        whole, [&](const Shard& one) { return one.begin < wanted && wanted < one.end; });
    if (part == whole.end()) return wanted;
    return wanted - part->begin < part->end - wanted ? part->begin : part->end;
  };
  std::vector<Shard> out;
  for (int rank = 0; rank < ranks; ++rank)
    out.push_back({border(rank), rank + 1 == ranks ? total : border(rank + 1)});
  return out;
}

std::vector<Shard> shards_in(const Shard& range, const std::vector<Shard>& shards) {
  std::vector<Shard> out;
  for (const Shard& one : shards) {
    const auto place = [&](std::int64_t at) {
      return std::clamp(at, range.begin, range.end) - range.begin;
    };
    out.push_back({place(one.begin), place(one.end)});
  }
  return out;
}

}  // namespace kw::train
