#include "lm/cuda/product_tiling.h"

#include <algorithm>

namespace kw::lm::cuda {

std::int64_t tiling_cost(const ProductSize& size, const ProductTiling& tiling) {
  const std::int64_t blocks =
      divided_up(size.n, tiling.width) * divided_up(size.rows, kProductRows) * tiling.splits;
  const std::int64_t steps = divided_up(size.k / kProductStep, tiling.splits);
  return divided_up(blocks, size.multiprocessors) * (tiling.width + kProductRows) * steps;
}

std::vector<int> possible_splits(std::int64_t k) {
  const std::int64_t steps = k / kProductStep;
  std::vector<int> out;
  for (int splits = 1; splits <= kMostProductSplits; ++splits)
    if (divided_up(steps, divided_up(steps, splits)) == splits) out.push_back(splits);
  return out;
}

int fixed_splits(const ProductSize& size) {
  ProductSize block = size;
  block.rows = kProductRows;
  int best = 1;
  std::int64_t least = INT64_MAX;
  for (int splits : possible_splits(size.k)) {
    for (int width : {64, 96, 128}) {
      const std::int64_t cost = tiling_cost(block, {width, splits});
      if (cost >= least) continue;
      least = cost;
      best = splits;
    }
  }
  return best;
}

ProductTiling best_tiling(const ProductSize& size, int splits, int columns, int unit) {
  ProductTiling best{columns, splits};
  for (int width = columns - unit; width * 2 > columns; width -= unit)
    if (tiling_cost(size, {width, splits}) < tiling_cost(size, best)) best.width = width;
  return best;
}

}  // namespace kw::lm::cuda
