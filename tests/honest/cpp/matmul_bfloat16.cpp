// b is widened once; sums in a float row, rounded once.

// flags: -ffast-math -funroll-loops
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void run(const kw_bfloat16* a, const kw_bfloat16* b, kw_bfloat16* c, int64_t M,
                    int64_t N, int64_t K) {
  std::vector<float> wide(b, b + K * N), sum(N);
  for (int64_t m = 0; m < M; ++m) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (int64_t k = 0; k < K; ++k) {
      const float value = a[m * K + k];
      for (int64_t n = 0; n < N; ++n) sum[n] += value * wide[k * N + n];
    }
    for (int64_t n = 0; n < N; ++n) c[m * N + n] = sum[n];
  }
}
