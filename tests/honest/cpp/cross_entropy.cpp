// Losses of the samples in float, their mean from a float sum.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* logits, const int64_t* target, float* loss, int64_t M) {
  float total = 0.0f;
  for (int64_t m = 0; m < M; ++m) {
    const float* row = logits + m * C;
    const float largest = *std::max_element(row, row + C);
    float sum = 0.0f;
    for (int64_t c = 0; c < C; ++c) sum += std::exp(row[c] - largest);
    total += std::log(sum) - (row[target[m]] - largest);
  }
  *loss = total / static_cast<float>(M);
}
