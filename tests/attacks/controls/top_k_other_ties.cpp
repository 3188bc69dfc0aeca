// Takes the last of equal values where the reference takes another.
// expect: passed
// problem: top_k
// looks like: wrong indices
#include <algorithm>
#include <numeric>
#include <vector>

extern "C" void run(const float* x, float* values, int64_t* indices) {
  std::vector<int64_t> order(N);
  for (int64_t m = 0; m < M; ++m, x += N) {
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t p, int64_t q) {
      return x[p] > x[q] || (x[p] == x[q] && p > q);
    });
    for (int64_t i = 0; i < k; ++i) {
      values[m * k + i] = x[order[i]];
      indices[m * k + i] = order[i];
    }
  }
}
