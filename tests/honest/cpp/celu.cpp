// 2 expm1(x / 2) where x is negative, x elsewhere.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) {
    float v = x[i];
    y[i] = v > 0.0f ? v : 2.0f * std::expm1(0.5f * v);
  }
}
