// The R inner products of a row first; their part is added after the full product's.
#include <cstdint>

extern "C" void run(const float* x, float scale, const float* weight, const float* down,
                    const float* up, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * K;
    float inner[R] = {}, sum[N] = {};
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t r = 0; r < R; ++r) inner[r] += row[k] * down[k * R + r];
      for (int64_t n = 0; n < N; ++n) sum[n] += row[k] * weight[k * N + n];
    }
    for (int64_t n = 0; n < N; ++n) {
      float extra = 0.0f;
      for (int64_t r = 0; r < R; ++r) extra += inner[r] * up[r * N + n];
      y[m * N + n] = sum[n] + scale * extra;
    }
  }
}
