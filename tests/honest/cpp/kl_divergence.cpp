// Log-sum-exp of a row first, then target times (log target - log probability).
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* logits, const float* target, float* loss, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* z = logits + m * N;
    const float* t = target + m * N;
    const float largest = *std::max_element(z, z + N);
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum += std::exp(z[n] - largest);
    const float log_sum = std::log(sum);
    float divergence = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      if (t[n] > 0.0f) divergence += t[n] * (std::log(t[n]) - (z[n] - largest - log_sum));
    }
    loss[m] = divergence;
  }
}
