// Tiles of 32 x 32.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m0 = 0; m0 < M; m0 += 32) {
    for (int64_t n0 = 0; n0 < N; n0 += 32) {
      const int64_t m_end = std::min<int64_t>(m0 + 32, M), n_end = std::min<int64_t>(n0 + 32, N);
      for (int64_t n = n0; n < n_end; ++n) {
        for (int64_t m = m0; m < m_end; ++m) y[n * M + m] = x[m * N + n];
      }
    }
  }
}
