// Logits of a sample in a buffer; log-sum-exp minus the right one.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const int64_t* target, const float* weight, float* loss,
                    int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float logit[C] = {};
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t c = 0; c < C; ++c) logit[c] += x[m * K + k] * weight[k * C + c];
    }
    const float largest = *std::max_element(logit, logit + C);
    float sum = 0.0f;
    for (float value : logit) sum += std::exp(value - largest);
    loss[m] = std::log(sum) + (largest - logit[target[m]]);
  }
}
