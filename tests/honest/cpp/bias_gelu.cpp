// Tanh form of GELU through the exponential: 0.5 (1 + tanh u) = 1 / (1 + exp(-2u)).
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* bias, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      float v = x[m * N + n] + bias[n];
      float u = 0.7978845608f * (v + 0.044715f * v * v * v);
      y[m * N + n] = v / (1.0f + std::exp(-2.0f * u));
    }
  }
}
