// Keeps half-made results in the output.
// expect: passed
// problem: softmax_rows
// looks like: in-place work on shared memory
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N, y += N) {
    float most = *std::max_element(x, x + N), sum = 0;
    for (int64_t i = 0; i < N; ++i) y[i] = 4 * (x[i] - most);
    for (int64_t i = 0; i < N; ++i) y[i] = std::exp(y[i]);
    for (int64_t i = 0; i < N; ++i) sum += y[i];
    for (int64_t i = 0; i < N; ++i) y[i] /= sum;
  }
}
