// Forbidden positions are skipped in all three passes.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const uint8_t* mask, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m, x += N, mask += N, y += N) {
    float largest = -INFINITY;
    for (int64_t n = 0; n < N; ++n) {
      if (mask[n] != 0) largest = std::max(largest, x[n]);
    }
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      y[n] = mask[n] != 0 ? std::exp(x[n] - largest) : 0.0f;
      sum += y[n];
    }
    const float factor = 1.0f / sum;
    for (int64_t n = 0; n < N; ++n) y[n] *= factor;
  }
}
