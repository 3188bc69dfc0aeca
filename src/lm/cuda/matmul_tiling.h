// How our own matmul (matmul.cu) is cut into blocks: the number of columns of a block, and the
// number of pieces of k.
#pragma once
#include <cstdint>
#include <vector>

namespace kw::lm::cuda {

inline constexpr std::int64_t kMatmulRows = 64;  // of a block
inline constexpr std::int64_t kMatmulStep = 64;  // of k
inline constexpr int kMaxMatmulSplits = 8;       // blocks of the largest cluster everywhere

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct MatmulTiling {
  int width = 0;   // rows of W of a block
  int splits = 1;  // of k, each with work
  friend bool operator==(const MatmulTiling&, const MatmulTiling&) = default;
};

struct MatmulSize {
  std::int64_t rows = 0, n = 0, k = 0;  // k: a multiple of kMatmulStep
  int multiprocessors = 1;
};

// The time of a long matmul grows with it: the rows of x and of W that the busiest multiprocessor
// reads, in steps of k.
std::int64_t tiling_cost(const MatmulSize& size, const MatmulTiling& tiling);

// It depends on n, k and the GPU, not on the rows, so an element's additions have one order. It is
// the cheapest number for 64 and 256 rows together.
int fixed_splits(const MatmulSize& size);
// Every number of splits, up to the largest, in which each split has work.
std::vector<int> possible_splits(std::int64_t k);
// The cheapest width of a kernel for `columns`: multiples of `unit` from half as many.
MatmulTiling best_tiling(const MatmulSize& size, int splits, int columns, int unit);

}  // namespace kw::lm::cuda
