// The output row holds logits, then exponentials, then probabilities.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float* out = y + m * N;
    std::copy_n(bias, N, out);
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t n = 0; n < N; ++n) out[n] += x[m * K + k] * weight[k * N + n];
    }
    const float largest = *std::max_element(out, out + N);
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum += out[n] = std::exp(out[n] - largest);
    for (int64_t n = 0; n < N; ++n) out[n] /= sum;
  }
}
