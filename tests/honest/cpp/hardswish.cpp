// Clamp and a multiplication by one sixth.

// flags: -ffast-math -funroll-loops
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) {
    float gate = std::min(std::max(x[i] + 3.0f, 0.0f), 6.0f);
    y[i] = x[i] * gate * (1.0f / 6.0f);
  }
}
