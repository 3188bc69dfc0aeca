// Strips of 64 columns with their sums on the stack, the maximum kept from strip to strip.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t M) {
  static_assert(N % 64 == 0);
  for (int64_t m = 0; m < M; ++m) {
    float largest = -INFINITY;
    for (int64_t n0 = 0; n0 < N; n0 += 64) {
      float sum[64] = {};
      for (int64_t k = 0; k < K; ++k) {
        for (int64_t j = 0; j < 64; ++j) sum[j] += x[m * K + k] * weight[k * N + n0 + j];
      }
      for (int64_t j = 0; j < 64; ++j) largest = std::max(largest, sum[j] + bias[n0 + j]);
    }
    y[m] = largest;
  }
}
