// Row i needs rows 0 to i of b, and of row k its first k + 1 elements.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t N) {
  std::fill_n(c, N * N, 0.0f);
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t k = 0; k <= i; ++k) {
      for (int64_t j = 0; j <= k; ++j) c[i * N + j] += a[i * N + k] * b[k * N + j];
    }
  }
}
