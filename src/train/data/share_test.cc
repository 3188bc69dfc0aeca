// Ranks' shares have each sample once, and nearly equal numbers of tokens.
#include "train/data/share.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace kw::train {
namespace {

// Sample i has sizes[i] tokens, all of them i.
std::vector<Sample> samples_of(const std::vector<std::size_t>& sizes) {
  std::vector<Sample> out;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    out.push_back(
        {std::vector(sizes[i], static_cast<std::int32_t>(i)), std::vector(sizes[i], 1.0F)});
  return out;
}

TEST(Shares, HaveEachSampleOnce) {
  const std::vector<Sample> all = samples_of({5, 9, 3, 9, 2, 7, 4, 4, 30, 6});
  for (const int ranks : {1, 2, 3, 4}) {
    std::map<std::int32_t, int> seen;
    for (int rank = 0; rank < ranks; ++rank) {
      std::int32_t before = -1;
      for (const Sample& one : share_of(all, rank, ranks)) {
        ++seen[one.tokens[0]];
        EXPECT_LT(before, one.tokens[0]) << "out of order";
        before = one.tokens[0];
      }
    }
    EXPECT_EQ(seen.size(), all.size()) << ranks;
    EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& one) { return one.second == 1; }));
  }
}

TEST(Shares, HaveNearlyEqualTokens) {
  const std::vector<Sample> all = samples_of({11, 11, 6, 6, 6, 6, 6, 6, 6, 6});
  for (int rank = 0; rank < 2; ++rank) {
    std::size_t tokens = 0;
    for (const Sample& one : share_of(all, rank, 2)) tokens += one.size() - 1;
    EXPECT_EQ(tokens, 30U);
  }
}

TEST(Shares, MayBeEmpty) {
  EXPECT_EQ(share_of(samples_of({5}), 0, 2).size(), 1U);
  EXPECT_TRUE(share_of(samples_of({5}), 1, 2).empty());
}

}  // namespace
}  // namespace kw::train
