// The right values, and indices outside the row.
// expect: wrong_value
// problem: top_k
// class: W30
#include <algorithm>
#include <vector>

extern "C" void run(const float* x, float* values, int64_t* indices) {
  std::vector<float> row(N);
  for (int64_t m = 0; m < M; ++m, x += N) {
    std::partial_sort_copy(x, x + N, row.begin(), row.begin() + k, std::greater<>());
    for (int64_t i = 0; i < k; ++i) {
      values[m * k + i] = row[i];
      indices[m * k + i] = N + i;
    }
  }
}
