// x - max - log(sum of exp(x - max)), the sum in float.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    const float largest = *std::max_element(row, row + N);
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum += std::exp(row[n] - largest);
    const float log_sum = std::log(sum);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = (row[n] - largest) - log_sum;
  }
}
