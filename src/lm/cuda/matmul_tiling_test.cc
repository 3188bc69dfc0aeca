#include "lm/cuda/matmul_tiling.h"

#include <gtest/gtest.h>

namespace kw::lm::cuda {
namespace {

TEST(MatmulTiling, CountsTheBusiestMultiprocessor) {
  // 10 blocks on 4 multiprocessors: 3 rounds of 64 rows and 32 columns, 4 steps each.
  EXPECT_EQ(tiling_cost({64, 160, 512, 4}, {32, 2}), 3 * 96 * 4);
  EXPECT_EQ(tiling_cost({65, 160, 512, 4}, {32, 2}), 5 * 96 * 4);
  EXPECT_EQ(tiling_cost({1, 161, 512, 4}, {32, 2}), 3 * 96 * 4);
  EXPECT_EQ(tiling_cost({64, 160, 576, 4}, {32, 2}), 3 * 96 * 5);  // the first piece has 5 of 9
}

TEST(MatmulTiling, EverySplitHasWork) {
  EXPECT_EQ(possible_splits(64), std::vector<int>({1}));
  EXPECT_EQ(possible_splits(std::int64_t{14} * 64),
            std::vector<int>({1, 2, 3, 4, 5, 7}));  // 14 steps
  EXPECT_EQ(possible_splits(std::int64_t{76} * 64).back(), 8);
  for (std::int64_t steps = 1; steps < 200; ++steps)
    for (int splits : possible_splits(steps * 64))
      EXPECT_LT(divided_up(steps, splits) * (splits - 1), steps);
}

// Qwen2.5-0.5B on 132 multiprocessors.
TEST(MatmulTiling, FillsTheGpu) {
  EXPECT_EQ(best_tiling({64, 9728, 896, 132}, 1, 96, 16), (MatmulTiling{80, 1}));
}

// The splits of q k v, output and down of 0.5B, 1.5B and 3B are within 1.5 % of the fastest layer
// at 64 rows.
TEST(MatmulTiling, FixedSplitsAreAmongTheFastest) {
  EXPECT_EQ(fixed_splits({64, 1152, 896, 132}), 3);
  EXPECT_EQ(fixed_splits({64, 896, 896, 132}), 4);
  EXPECT_EQ(fixed_splits({64, 896, 4864, 132}), 8);
  EXPECT_EQ(fixed_splits({64, 2048, 1536, 132}), 4);
  EXPECT_EQ(fixed_splits({64, 1536, 1536, 132}), 4);
  EXPECT_EQ(fixed_splits({64, 1536, 8960, 132}), 8);
  EXPECT_EQ(fixed_splits({64, 2560, 2048, 132}), 3);
  EXPECT_EQ(fixed_splits({64, 2048, 2048, 132}), 4);
  EXPECT_EQ(fixed_splits({64, 2048, 11008, 132}), 6);
}

TEST(MatmulTiling, FixedSplitsDoNotDependOnRows) {
  for (std::int64_t rows : {1, 64, 65, 1000, 8192})
    EXPECT_EQ(fixed_splits({rows, 1536, 8960, 132}), fixed_splits({64, 1536, 8960, 132}));
}

}  // namespace
}  // namespace kw::lm::cuda
