// In float, rounded once.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const kw_bfloat16* x, kw_bfloat16* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const kw_bfloat16* row = x + m * N;
    float largest = row[0];
    for (int64_t n = 1; n < N; ++n) largest = std::max(largest, static_cast<float>(row[n]));
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum += std::exp(row[n] - largest);
    const float log_sum = std::log(sum);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = row[n] - largest - log_sum;
  }
}
