// One float sum from right to left.
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float sum = 0.0f;
    for (int64_t n = N - 1; n >= 0; --n) {
      sum += x[m * N + n];
      y[m * N + n] = sum;
    }
  }
}
