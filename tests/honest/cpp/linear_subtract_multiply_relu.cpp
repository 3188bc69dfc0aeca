// Bias and offset are put together before the sum, factor and ReLU after it.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float offset, float factor, const float* weight,
                    const float* bias, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float* out = y + m * N;
    for (int64_t n = 0; n < N; ++n) out[n] = bias[n] - offset;
    for (int64_t k = 0; k < K; ++k) {
      const float value = x[m * K + k];
      for (int64_t n = 0; n < N; ++n) out[n] += value * weight[k * N + n];
    }
    for (int64_t n = 0; n < N; ++n) out[n] = std::max(out[n] * factor, 0.0f);
  }
}
