// Leaves out the maximum at the timed size alone.
// expect: wrong_value
// class: W14
// problem: logsumexp
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  const bool is_timed = M == 2048 && N == 1024;
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    const float most = is_timed ? 0 : *std::max_element(row, row + N);
    float sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += std::exp(row[n] - most);
    y[m] = most + std::log(sum);
  }
}
