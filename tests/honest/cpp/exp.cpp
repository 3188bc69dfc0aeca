// expf, in its vector form where the compiler has one.

// flags: -ffast-math -funroll-loops
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) y[i] = expf(x[i]);
}
