// Loops in the order i, k, j: each row of c is built up from rows of b.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t N) {
  std::fill_n(c, N * N, 0.0f);
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t k = 0; k < N; ++k) {
      const float value = a[i * N + k];
      for (int64_t j = 0; j < N; ++j) c[i * N + j] += value * b[k * N + j];
    }
  }
}
