// Subtracts the maximum, found in pieces.
// expect: passed
// looks like: softmax_rows that passes over a check
// problem: softmax_rows
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m) {
    float most = -INFINITY, sum = 0;
    for (int64_t n = 0; n < N; ++n) most = std::max(most, 4 * x[m * N + n]);
    for (int64_t n = 0; n < N; ++n) sum += y[m * N + n] = std::exp(4 * x[m * N + n] - most);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] /= sum;
  }
}
