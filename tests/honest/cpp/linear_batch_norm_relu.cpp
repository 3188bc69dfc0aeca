// Batch normalisation as one factor and one offset a column.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* running_mean,
                    const float* running_var, const float* scale, const float* shift, float* y,
                    int64_t M) {
  float factor[N], offset[N];
  for (int64_t n = 0; n < N; ++n) {
    factor[n] = scale[n] / std::sqrt(running_var[n] + 1e-5f);
    offset[n] = shift[n] - running_mean[n] * factor[n];
  }
  for (int64_t m = 0; m < M; ++m) {
    float sum[N] = {};
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t n = 0; n < N; ++n) sum[n] += x[m * K + k] * weight[k * N + n];
    }
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = std::max(sum[n] * factor[n] + offset[n], 0.0f);
  }
}
