// Widened to 32 bits term by term.
#include <algorithm>
#include <cstdint>

extern "C" void run(const int8_t* a, const int8_t* b, int32_t* c, int64_t M, int64_t N, int64_t K) {
  std::fill_n(c, M * N, 0);
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t k = 0; k < K; ++k) {
      const int32_t value = a[m * K + k];
      for (int64_t n = 0; n < N; ++n) c[m * N + n] += value * b[k * N + n];
    }
  }
}
