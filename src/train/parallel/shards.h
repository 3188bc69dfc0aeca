// Shards: which part of the masters' block each rank has.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kw::train {

// Numbers [begin, end) of a block.
struct Shard {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Shard&) const = default;
};

// What two of them share; of size 0 where that is nothing.
inline Shard common_part(const Shard& a, const Shard& b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// The shards of a block, one a rank, and which of them is one's own.
struct Sharding {
  std::vector<Shard> shards;
  std::size_t rank = 0;
  const Shard& own() const { return shards[rank]; }
};

// `total` numbers in `ranks` shards, in order and without gaps: as equal as whole lines of 512
// numbers allow. No border lies inside of a part of `whole` (ascending, not overlapping, each with
// the padding behind it): it moves to the nearer end. A shard may be empty.
std::vector<Shard> make_shards(std::int64_t total, int ranks, const std::vector<Shard>& whole);

// The shards' parts of a range of the block, counted from the range's beginning.
std::vector<Shard> shards_in(const Shard& range, const std::vector<Shard>& shards);

}  // namespace kw::train
