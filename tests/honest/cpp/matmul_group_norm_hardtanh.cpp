// A row of the product in a buffer; each group's mean and variance in two float passes.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, const float* scale,
                    const float* shift, float* y, int64_t M) {
  constexpr int64_t kGroup = N / 8;
  for (int64_t m = 0; m < M; ++m) {
    float row[N];
    std::copy_n(bias, N, row);
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t n = 0; n < N; ++n) row[n] += x[m * K + k] * weight[k * N + n];
    }
    for (int64_t start = 0; start < N; start += kGroup) {
      float sum = 0.0f, squares = 0.0f;
      for (int64_t n = start; n < start + kGroup; ++n) sum += row[n];
      const float mean = sum / kGroup;
      for (int64_t n = start; n < start + kGroup; ++n) squares += (row[n] - mean) * (row[n] - mean);
      const float factor = 1.0f / std::sqrt(squares / kGroup + 1e-5f);
      for (int64_t n = start; n < start + kGroup; ++n) {
        const float normal = (row[n] - mean) * factor * scale[n] + shift[n];
        y[m * N + n] = std::min(std::max(normal, -1.0f), 1.0f);
      }
    }
  }
}
