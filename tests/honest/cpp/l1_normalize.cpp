// Magnitudes summed in the compiler's order, then each element divided by the sum.

// flags: -ffast-math -funroll-loops
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum += std::fabs(row[n]);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = row[n] / sum;
  }
}
