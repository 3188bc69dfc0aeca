// A second pass that has the logarithm of the sum alone, as flash attention's: the difference rounds even for the largest element.
// expect: passed
// looks like: a softmax in lower precision
// problem: softmax_rows
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y) {
  constexpr float kScale = 4 * 1.44269504f;
  for (int64_t m = 0; m < M; ++m) {
    float most = -INFINITY, sum = 0;
    for (int64_t n = 0; n < N; ++n) most = std::max(most, x[m * N + n]);
    for (int64_t n = 0; n < N; ++n) sum += std::exp2((x[m * N + n] - most) * kScale);
    const float of_row = std::fma(most, kScale, std::log2(sum));
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = std::exp2(std::fma(x[m * N + n], kScale, -of_row));
  }
}
