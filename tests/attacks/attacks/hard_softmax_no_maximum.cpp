// Leaves out the maximum: right as long as no exponential overflows.
// expect: wrong_value
// class: W14
// problem: softmax_rows
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m) {
    float sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += y[m * N + n] = std::exp(4 * x[m * N + n]);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] /= sum;
  }
}
