// Exponentials stay in a float buffer until they are divided.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void run(const _Float16* x, _Float16* y, int64_t M, int64_t N) {
  std::vector<float> e(N);
  for (int64_t m = 0; m < M; ++m) {
    const _Float16* row = x + m * N;
    float largest = row[0];
    for (int64_t n = 1; n < N; ++n) largest = std::max(largest, static_cast<float>(row[n]));
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      e[n] = std::exp(static_cast<float>(row[n]) - largest);
      sum += e[n];
    }
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = static_cast<_Float16>(e[n] / sum);
  }
}
