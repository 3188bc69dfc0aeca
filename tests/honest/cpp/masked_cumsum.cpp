// Adds only what the mask allows.
#include <cstdint>

extern "C" void run(const float* x, const uint8_t* mask, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      const int64_t i = m * N + n;
      if (mask[i] != 0) sum += x[i];
      y[i] = sum;
    }
  }
}
