// The gated row is kept in the output until it is scaled.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* gate, const float* weight, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float* out = y + m * N;
    float squares = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      const float g = gate[m * N + n];
      out[n] = x[m * N + n] * (g / (1.0f + std::exp(-g)));
      squares += out[n] * out[n];
    }
    const float factor = 1.0f / std::sqrt(squares / N + 1e-6f);
    for (int64_t n = 0; n < N; ++n) out[n] *= factor * weight[n];
  }
}
