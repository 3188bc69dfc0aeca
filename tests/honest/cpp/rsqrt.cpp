// 1 / sqrt(x); the compiler may take its approximate instruction and one Newton step.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) y[i] = 1.0f / std::sqrt(x[i]);
}
