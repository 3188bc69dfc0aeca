// Sums of a row in two halves of K, then one fused multiply-add with the residual.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* residual, float scale, const float* weight,
                    float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float low[N] = {}, high[N] = {};
    for (int64_t k = 0; k < K / 2; ++k) {
      for (int64_t n = 0; n < N; ++n) {
        low[n] += x[m * K + k] * weight[k * N + n];
        high[n] += x[m * K + K / 2 + k] * weight[(K / 2 + k) * N + n];
      }
    }
    for (int64_t n = 0; n < N; ++n) {
      y[m * N + n] = std::fma(scale, low[n] + high[n], residual[m * N + n]);
    }
  }
}
