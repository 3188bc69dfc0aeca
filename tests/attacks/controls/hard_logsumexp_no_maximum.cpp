// Subtracts the maximum at every size.
// expect: passed
// looks like: logsumexp that passes over a check
// problem: logsumexp
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    const float most = *std::max_element(row, row + N);
    float sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += std::exp(row[n] - most);
    y[m] = most + std::log(sum);
  }
}
