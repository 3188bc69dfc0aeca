// Each entry adds its row of the dense matrix to the output row.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* value, const int64_t* column, const float* dense, float* y,
                    int64_t M, int64_t N) {
  std::fill_n(y, M * N, 0.0f);
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t e = 0; e < E; ++e) {
      const float* row = dense + column[m * E + e] * N;
      for (int64_t n = 0; n < N; ++n) y[m * N + n] += value[m * E + e] * row[n];
    }
  }
}
