// Both products of a row side by side.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, const float* gate,
                    const float* gate_bias, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * D;
    float value[D], share[D];
    std::copy_n(bias, D, value);
    std::copy_n(gate_bias, D, share);
    for (int64_t k = 0; k < D; ++k) {
      for (int64_t n = 0; n < D; ++n) {
        value[n] += row[k] * weight[k * D + n];
        share[n] += row[k] * gate[k * D + n];
      }
    }
    for (int64_t n = 0; n < D; ++n) {
      const float t = 1.0f / (1.0f + std::exp(-share[n]));
      const float rest = 1.0f / (1.0f + std::exp(share[n]));  // 1 - t without cancellation
      y[m * D + n] = t * std::max(value[n], 0.0f) + rest * row[n];
    }
  }
}
