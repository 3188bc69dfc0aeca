#include "train/data/packer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::train {
namespace {

using ::testing::ElementsAre;

// Tokens begin, begin + 1, ...; the weight of a token is its id.
Sample sample(std::int32_t begin, int count) {
  Sample out;
  for (int i = 0; i < count; ++i) {
    out.tokens.push_back(begin + i);
    out.weights.push_back(static_cast<float>(begin + i));
  }
  return out;
}

TEST(Packer, TargetsAreTheNextTokensOfTheSameSample) {
  const auto batches = pack(std::vector{sample(10, 3), sample(20, 2)}, 100);
  ASSERT_EQ(batches.size(), 1);
  EXPECT_THAT(batches[0].tokens, ElementsAre(10, 11, 20));
  EXPECT_THAT(batches[0].targets, ElementsAre(11, 12, 21));
  EXPECT_THAT(batches[0].weights, ElementsAre(11, 12, 21));
  EXPECT_THAT(batches[0].lengths, ElementsAre(2, 1));
}

TEST(Packer, LongestFirstIntoTheFirstThatFits) {
  // Places: 3, 5, 2, 9, 4.
  const std::vector samples = {sample(0, 4), sample(100, 6), sample(200, 3), sample(300, 10),
                               sample(400, 5)};
  const auto batches = pack(samples, 8);
  ASSERT_EQ(batches.size(), 3);
  EXPECT_THAT(batches[0].lengths, ElementsAre(9));  // over the limit: alone
  EXPECT_THAT(batches[1].lengths, ElementsAre(5, 3));
  EXPECT_THAT(batches[2].lengths, ElementsAre(4, 2));
}

}  // namespace
}  // namespace kw::train
