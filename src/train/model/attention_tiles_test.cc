#include "train/model/attention_tiles.h"

#include <gtest/gtest.h>

namespace kw::train {
namespace {

std::vector<AttentionTile> tiles(std::initializer_list<AttentionTile> list) {
  return list;
}

TEST(AttentionTiles, QueriesWithTheMostKeysAndKeysWithTheMostQueriesComeFirst) {
  // 130, 128 and 1 tokens: two tiles, one and one.
  const std::vector<std::int64_t> bounds{0, 130, 258, 259};
  const AttentionTiles made = attention_tiles(bounds);
  EXPECT_EQ(made.of_queries,
            tiles({{0, 130, 0, 1}, {0, 130, 0, 0}, {130, 128, 256, 0}, {258, 1, 384, 0}}));
  EXPECT_EQ(made.of_keys,
            tiles({{0, 130, 0, 0}, {0, 130, 0, 1}, {130, 128, 256, 0}, {258, 1, 384, 0}}));
  EXPECT_EQ(made.statistics, 512);
}

TEST(AttentionTiles, LongerSequencesComeBeforeShorterOnes) {
  const std::vector<std::int64_t> bounds{0, 100, 500};
  const AttentionTiles made = attention_tiles(bounds);
  EXPECT_EQ(made.of_queries.front(), (AttentionTile{100, 400, 128, 3}));
  EXPECT_EQ(made.of_keys.front(), (AttentionTile{100, 400, 128, 0}));
  EXPECT_EQ(made.of_keys.size(), 5);
}

TEST(AttentionTiles, ThereAreNoneWithoutTokens) {
  const AttentionTiles none = attention_tiles(std::vector<std::int64_t>{0});
  EXPECT_TRUE(none.of_queries.empty() && none.of_keys.empty());
  EXPECT_EQ(none.statistics, 0);
}

}  // namespace
}  // namespace kw::train
