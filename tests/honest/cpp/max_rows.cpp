// Eight running maxima a row.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float best[8];
    std::fill_n(best, 8, row[0]);
    int64_t n = 0;
    for (; n + 8 <= N; n += 8) {
      for (int64_t lane = 0; lane < 8; ++lane) best[lane] = std::max(best[lane], row[n + lane]);
    }
    for (; n < N; ++n) best[0] = std::max(best[0], row[n]);
    y[m] = *std::max_element(best, best + 8);
  }
}
