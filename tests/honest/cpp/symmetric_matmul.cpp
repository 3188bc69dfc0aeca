// Each element below the diagonal is used twice, for its row and for its mirror image's.
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t n = 0; n < N; ++n) c[i * N + n] = a[i * M + i] * b[i * N + n];
  }
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t k = 0; k < i; ++k) {
      const float value = a[i * M + k];
      for (int64_t n = 0; n < N; ++n) {
        c[i * N + n] += value * b[k * N + n];
        c[k * N + n] += value * b[i * N + n];
      }
    }
  }
}
