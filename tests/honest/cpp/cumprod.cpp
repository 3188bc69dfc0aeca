// One float product from left to right.
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float product = 1.0f;
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = product *= x[m * N + n];
  }
}
