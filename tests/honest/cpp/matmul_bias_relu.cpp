// Two rows of x at a time, bias and ReLU at the end.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t M) {
  for (int64_t m = 0; m < M; m += 2) {
    const bool pair = m + 1 < M;
    const float* first = x + m * K;
    const float* second = pair ? first + K : first;
    float sums[2][N] = {};
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t n = 0; n < N; ++n) {
        sums[0][n] += first[k] * weight[k * N + n];
        sums[1][n] += second[k] * weight[k * N + n];
      }
    }
    for (int64_t r = 0; r < (pair ? 2 : 1); ++r) {
      for (int64_t n = 0; n < N; ++n) y[(m + r) * N + n] = std::max(sums[r][n] + bias[n], 0.0f);
    }
  }
}
