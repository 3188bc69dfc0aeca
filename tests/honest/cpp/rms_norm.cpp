// Squares summed in 16 lanes, which are added in pairs.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float part[16] = {};
    for (int64_t n = 0; n < N; n += 16) {
      for (int64_t lane = 0; lane < 16; ++lane) part[lane] += row[n + lane] * row[n + lane];
    }
    for (int64_t width = 8; width > 0; width /= 2) {
      for (int64_t lane = 0; lane < width; ++lane) part[lane] += part[lane + width];
    }
    const float factor = 1.0f / std::sqrt(part[0] / N + 1e-6f);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = row[n] * factor * weight[n];
  }
}
