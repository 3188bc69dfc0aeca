// x times half the complementary error function, which does not cancel on the negative side.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) y[i] = 0.5f * x[i] * std::erfc(-0.70710678f * x[i]);
}
