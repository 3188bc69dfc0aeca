// Squares summed in float in the compiler's order; rounded once.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const kw_bfloat16* x, const kw_bfloat16* weight, kw_bfloat16* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    const kw_bfloat16* row = x + m * N;
    float squares = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      const float v = row[n];
      squares += v * v;
    }
    const float factor = 1.0f / std::sqrt(squares / N + 1e-6f);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = row[n] * factor * weight[n];
  }
}
