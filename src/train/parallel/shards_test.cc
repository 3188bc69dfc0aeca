// Shards cover a block once, and leave whole parts whole.
#include "train/parallel/shards.h"

#include <gtest/gtest.h>

namespace kw::train {
namespace {

TEST(Shards, AreEqualButForLines) {
  EXPECT_EQ(make_shards(2048, 2, {}), (std::vector<Shard>{{0, 1024}, {1024, 2048}}));
  EXPECT_EQ(make_shards(1664, 3, {}), (std::vector<Shard>{{0, 512}, {512, 1024}, {1024, 1664}}));
  EXPECT_EQ(make_shards(1280, 1, {}), (std::vector<Shard>{{0, 1280}}));
}

TEST(Shards, BordersLeavePartsWhole) {
  const std::vector<Shard> parts = {{256, 1152}, {1152, 1280}, {1408, 4096}};
  EXPECT_EQ(make_shards(4096, 2, parts), (std::vector<Shard>{{0, 1408}, {1408, 4096}}));
  EXPECT_EQ(make_shards(4096, 4, parts),
            (std::vector<Shard>{{0, 1152}, {1152, 1408}, {1408, 4096}, {4096, 4096}}));
}

TEST(Shards, MoreRanksThanLines) {
  const std::vector<Shard> shards = make_shards(1024, 5, {});
  std::int64_t place = 0;
  for (const Shard& one : shards) {
    EXPECT_EQ(one.begin, place);
    place = one.end;
  }
  EXPECT_EQ(place, 1024);
}

// The parts of a range lie in order without gaps, and are empty for ranks that have none of it.
TEST(Shards, OfARangeAreCountedFromItsBeginning) {
  const std::vector<Shard> shards = {{0, 1024}, {1024, 2048}, {2048, 3000}};
  EXPECT_EQ(shards_in({1000, 2100}, shards),
            (std::vector<Shard>{{0, 24}, {24, 1048}, {1048, 1100}}));
  EXPECT_EQ(shards_in({10, 20}, shards), (std::vector<Shard>{{0, 10}, {10, 10}, {10, 10}}));
  EXPECT_EQ(shards_in({2900, 3000}, shards), (std::vector<Shard>{{0, 0}, {0, 0}, {0, 100}}));
  EXPECT_EQ(common_part({0, 5}, {7, 9}).size(), 0);
}

}  // namespace
}  // namespace kw::train
