// Matrix product with the loops in vectorisable order, but no blocking: b is read from beyond the
// first-level cache for every row of a.
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t N) {
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = 0.0f;
    for (int64_t k = 0; k < N; ++k) {
      for (int64_t j = 0; j < N; ++j) c[i * N + j] += a[i * N + k] * b[k * N + j];
    }
  }
}
