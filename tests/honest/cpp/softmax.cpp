// Three passes a row: maximum, exponentials and their sum, division; vector exponentials, sums in
// any order.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float* out = y + m * N;
    const float largest = *std::max_element(row, row + N);
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      out[n] = std::exp(row[n] - largest);
      sum += out[n];
    }
    for (int64_t n = 0; n < N; ++n) out[n] /= sum;
  }
}
