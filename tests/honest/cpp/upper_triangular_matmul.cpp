// Row i needs rows i to M - 1 of b, taken from the last to the first.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t M, int64_t N) {
  std::fill_n(c, M * N, 0.0f);
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t k = M - 1; k >= i; --k) {
      for (int64_t n = 0; n < N; ++n) c[i * N + n] += a[i * M + k] * b[k * N + n];
    }
  }
}
