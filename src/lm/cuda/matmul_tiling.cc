#include "lm/cuda/matmul_tiling.h"

#include <algorithm>

namespace kw::lm::cuda {
namespace {

// In units of tiling_cost. A block takes as long to begin as two steps of k; each more split costs
// a quarter of a step of 64 columns, for the adding up. Both were fitted to the time of whole
// layers of four models (hidden 512 to 2048) on an H200 with every number of splits.
std::int64_t split_cost(const MatmulSize& size, const MatmulTiling& tiling) {
  constexpr std::int64_t kBeginning = 2, kAdding = (64 + kMatmulRows) / 4;
  const std::int64_t blocks =
      divided_up(size.n, tiling.width) * divided_up(size.rows, kMatmulRows) * tiling.splits;
  const std::int64_t steps = divided_up(size.k / kMatmulStep, tiling.splits) + kBeginning;
  return divided_up(blocks, size.multiprocessors) * (tiling.width + kMatmulRows) * steps +
         kAdding * (tiling.splits - 1);
}

}  // namespace

std::int64_t tiling_cost(const MatmulSize& size, const MatmulTiling& tiling) {
  const std::int64_t blocks =
      divided_up(size.n, tiling.width) * divided_up(size.rows, kMatmulRows) * tiling.splits;
  const std::int64_t steps = divided_up(size.k / kMatmulStep, tiling.splits);
  return divided_up(blocks, size.multiprocessors) * (tiling.width + kMatmulRows) * steps;
}

std::vector<int> possible_splits(std::int64_t k) {
  const std::int64_t steps = k / kMatmulStep;
  std::vector<int> out;
  for (int splits = 1; splits <= kMaxMatmulSplits; ++splits)
    if (divided_up(steps, divided_up(steps, splits)) == splits) out.push_back(splits);
  return out;
}

int fixed_splits(const MatmulSize& size) {
  int best = 1;
  std::int64_t least = INT64_MAX;
  for (int splits : possible_splits(size.k)) {
    std::int64_t cost = 0;
    for (std::int64_t rows : {kMatmulRows, 4 * kMatmulRows}) {
      const MatmulSize batch{rows, size.n, size.k, size.multiprocessors};
      std::int64_t of_batch = INT64_MAX;
      for (int width : {64, 96, 128})
        of_batch = std::min(of_batch, split_cost(batch, {width, splits}));
      cost += of_batch;
    }
    if (cost >= least) continue;
    least = cost;
    best = splits;
  }
  return best;
}

MatmulTiling best_tiling(const MatmulSize& size, int splits, int columns, int unit) {
  MatmulTiling best{columns, splits};
  for (int width = columns - unit; width * 2 > columns; width -= unit)
    if (tiling_cost(size, {width, splits}) < tiling_cost(size, best)) best.width = width;
  return best;
}

}  // namespace kw::lm::cuda
