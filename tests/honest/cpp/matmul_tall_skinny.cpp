// One row of c in a small buffer while the row of a goes by; double sums.
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void run(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K) {
  std::vector<double> sum(N);
  for (int64_t i = 0; i < M; ++i) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (int64_t k = 0; k < K; ++k) {
      const double value = a[i * K + k];
      for (int64_t j = 0; j < N; ++j) sum[j] += value * b[k * N + j];
    }
    for (int64_t j = 0; j < N; ++j) c[i * N + j] = static_cast<float>(sum[j]);
  }
}
