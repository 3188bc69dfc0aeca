// A row of the product in a buffer, then the maximum and the sum of exponentials.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float row[N];
    std::copy_n(bias, N, row);
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t n = 0; n < N; ++n) row[n] += x[m * K + k] * weight[k * N + n];
    }
    const float largest = *std::max_element(row, row + N);
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum += std::exp(row[n] - largest);
    y[m] = largest + std::log(sum);
  }
}
