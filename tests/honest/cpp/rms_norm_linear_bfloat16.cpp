// The normalised row stays in float; the product is rounded once.
#include <cmath>
#include <cstdint>

extern "C" void run(const kw_bfloat16* x, const kw_bfloat16* scale, const kw_bfloat16* weight,
                    kw_bfloat16* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float normal[K], sum[N] = {}, squares = 0.0f;
    for (int64_t k = 0; k < K; ++k) {
      normal[k] = x[m * K + k];
      squares += normal[k] * normal[k];
    }
    const float factor = 1.0f / std::sqrt(squares / K + 1e-6f);
    for (int64_t k = 0; k < K; ++k) {
      const float value = normal[k] * factor * scale[k];
      for (int64_t n = 0; n < N; ++n) sum[n] += value * weight[k * N + n];
    }
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = sum[n];
  }
}
