// Fused multiply-adds into one float, from left to right.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum = std::fma(x[m * N + n], x[m * N + n], sum);
    y[m] = sum;
  }
}
