// Stable sort of indices with a comparison that looks the values up.
#include <algorithm>
#include <cstdint>
#include <numeric>

extern "C" void run(const float* x, int64_t* index, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    int64_t* order = index + m * N;
    std::iota(order, order + N, int64_t{0});
    std::stable_sort(order, order + N, [row](int64_t a, int64_t b) { return row[a] > row[b]; });
  }
}
