// One pass for maximum and sum together.
// expect: passed
// problem: softmax_rows
// looks like: another formula
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N, y += N) {
    float most = x[0], sum = 0;
    for (int64_t i = 0; i < N; ++i) {
      float next = std::max(most, x[i]);
      sum = sum * std::exp(4 * (most - next)) + std::exp(4 * (x[i] - next));
      most = next;
    }
    for (int64_t i = 0; i < N; ++i) y[i] = std::exp(4 * (x[i] - most)) / sum;
  }
}
