// The product of a and b is scaled first, then added by one fused operation.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* a, const float* b, float value, float* y,
                    int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) y[i] = std::fma(value, a[i] * b[i], x[i]);
}
