// How our own product (product.cu) is cut into blocks: how many columns one has, and into how many
// pieces k is split.
#pragma once
#include <cstdint>
#include <vector>

namespace kw::lm::cuda {

inline constexpr std::int64_t kProductRows = 64;  // of a block
inline constexpr std::int64_t kProductStep = 64;  // of k
inline constexpr int kMostProductSplits = 8;      // blocks of the largest cluster everywhere

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct ProductTiling {
  int width = 0;   // rows of W of a block
  int splits = 1;  // of k, each with work
  friend bool operator==(const ProductTiling&, const ProductTiling&) = default;
};

struct ProductSize {
  std::int64_t rows = 0, n = 0, k = 0;  // k: a multiple of kProductStep
  int multiprocessors = 1;
};

// What the time grows with where a product takes long: rows of x and of W that the busiest
// multiprocessor reads, in steps of k.
std::int64_t tiling_cost(const ProductSize& size, const ProductTiling& tiling);

// A function of n, k and the GPU, not of the rows: with it an element's additions have one order.
// The best for 64 and 256 rows together, by count.
int fixed_splits(const ProductSize& size);
// Every number of splits that leaves none without work, up to the most.
std::vector<int> possible_splits(std::int64_t k);
// The cheapest width of a kernel for `columns`: multiples of `unit` from half as many.
ProductTiling best_tiling(const ProductSize& size, int splits, int columns, int unit);

}  // namespace kw::lm::cuda
