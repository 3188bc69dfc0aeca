// Leaves out the row's maximum, which only wide inputs need.
// expect: wrong_value
// problem: softmax
// class: W10, W14
#include <cmath>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m, x += N, y += N) {
    float sum = 0;
    for (int64_t i = 0; i < N; ++i) sum += y[i] = std::exp(x[i]);
    for (int64_t i = 0; i < N; ++i) y[i] /= sum;
  }
}
