// Shards: which part of the masters' block each rank's optimizer has.
#pragma once
#include <cstdint>
#include <vector>

namespace kw::train {

// Numbers [begin, end) of a block.
struct Shard {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Shard&) const = default;
};

// `total` numbers in `ranks` shards, in order and without gaps: as equal as whole lines of 512
// numbers allow. No border lies inside of a part of `whole` (ascending, not overlapping, each with
// the padding behind it): it moves to the nearer end. A shard may be empty.
std::vector<Shard> make_shards(std::int64_t total, int ranks, const std::vector<Shard>& whole);

}  // namespace kw::train
