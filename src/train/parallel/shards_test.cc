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

}  // namespace
}  // namespace kw::train
