// Welford's update of all columns at once, row by row.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* mean, float* variance, int64_t M, int64_t N) {
  std::fill_n(mean, N, 0.0f);
  std::fill_n(variance, N, 0.0f);
  for (int64_t m = 0; m < M; ++m) {
    const float share = 1.0f / static_cast<float>(m + 1);
    for (int64_t n = 0; n < N; ++n) {
      const float value = x[m * N + n];
      const float delta = value - mean[n];
      mean[n] += delta * share;
      variance[n] += delta * (value - mean[n]);
    }
  }
  for (int64_t n = 0; n < N; ++n) variance[n] /= static_cast<float>(M);
}
