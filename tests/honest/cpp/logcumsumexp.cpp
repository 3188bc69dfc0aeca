// Running maximum and the sum of exponentials relative to it.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float largest = -INFINITY, sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      const float v = x[m * N + n];
      if (v > largest) {
        sum = sum * std::exp(largest - v) + 1.0f;
        largest = v;
      } else {
        sum += std::exp(v - largest);
      }
      y[m * N + n] = largest + std::log(sum);
    }
  }
}
