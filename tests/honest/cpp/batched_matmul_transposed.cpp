// For each k a product of a column with a row is added to the whole of c.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t B, int64_t M, int64_t N,
                    int64_t K) {
  std::fill_n(c, B * M * N, 0.0f);
  for (int64_t batch = 0; batch < B; ++batch, a += K * M, b += K * N, c += M * N) {
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t m = 0; m < M; ++m) {
        const float value = a[k * M + m];
        for (int64_t n = 0; n < N; ++n) c[m * N + n] += value * b[k * N + n];
      }
    }
  }
}
