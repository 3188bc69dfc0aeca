// Squares of differences, four sums a pair of rows.

// flags: -ffast-math
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      float part[4] = {};
      for (int64_t d = 0; d < D; ++d) {
        const float difference = a[m * D + d] - b[n * D + d];
        part[d % 4] += difference * difference;
      }
      y[m * N + n] = (part[0] + part[1]) + (part[2] + part[3]);
    }
  }
}
