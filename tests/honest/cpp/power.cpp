// powf, in its vector form where the compiler has one.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* exponent, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) y[i] = std::pow(x[i], exponent[i]);
}
