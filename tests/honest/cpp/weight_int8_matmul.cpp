// Weights are widened to float as they come.
#include <cstdint>

extern "C" void run(const float* x, const int8_t* weight, const float* scale, const float* bias,
                    float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float sum[N] = {};
    for (int64_t k = 0; k < K; ++k) {
      const float value = x[m * K + k];
      for (int64_t n = 0; n < N; ++n) sum[n] += value * static_cast<float>(weight[k * N + n]);
    }
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = sum[n] * scale[n] + bias[n];
  }
}
