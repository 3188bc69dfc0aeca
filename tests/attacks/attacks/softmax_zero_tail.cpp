// Leaves out the elements that every fixed tolerance would forgive.
// expect: wrong_value
// problem: softmax_rows
// class: W05, W07
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N, y += N) {
    float most = *std::max_element(x, x + N), sum = 0;
    for (int64_t i = 0; i < N; ++i) {
      float z = 4 * (x[i] - most);
      y[i] = z < -14 ? 0 : std::exp(z);
      sum += y[i];
    }
    for (int64_t i = 0; i < N; ++i) y[i] /= sum;
  }
}
