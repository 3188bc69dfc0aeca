// Matrix product whose sum is unrolled by 8 without a remainder loop: the last N % 8 terms are
// missing.
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t N) {
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = 0.0f;
    for (int64_t k = 0; k + 8 <= N; k += 8) {
      for (int64_t term = k; term < k + 8; ++term) {
        for (int64_t j = 0; j < N; ++j) c[i * N + j] += a[i * N + term] * b[term * N + j];
      }
    }
  }
}
