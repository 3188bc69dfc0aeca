// A normalised row in a buffer, then rows of the weight are added up.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* scale, const float* shift, const float* weight,
                    const float* bias, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * K;
    float sum = 0.0f, squares = 0.0f, normal[K];
    for (int64_t k = 0; k < K; ++k) sum += row[k];
    const float mean = sum / K;
    for (int64_t k = 0; k < K; ++k) squares += (row[k] - mean) * (row[k] - mean);
    const float factor = 1.0f / std::sqrt(squares / K + 1e-5f);
    for (int64_t k = 0; k < K; ++k) normal[k] = (row[k] - mean) * factor * scale[k] + shift[k];
    float* out = y + m * N;
    std::copy_n(bias, N, out);
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t n = 0; n < N; ++n) out[n] += normal[k] * weight[k * N + n];
    }
  }
}
