// expm1 below zero keeps the digits of small arguments.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) y[i] = x[i] > 0.0f ? x[i] : std::expm1(x[i]);
}
