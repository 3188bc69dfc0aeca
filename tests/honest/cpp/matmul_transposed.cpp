// Dot products of rows; the compiler may reorder their sums.

// flags: -ffast-math -funroll-loops
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K) {
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      float sum = 0.0f;
      for (int64_t k = 0; k < K; ++k) sum += a[i * K + k] * b[j * K + k];
      c[i * N + j] = sum;
    }
  }
}
