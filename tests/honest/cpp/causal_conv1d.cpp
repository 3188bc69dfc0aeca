// A copy of each channel with three zeros in front, then four terms and SiLU.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t L) {
  std::vector<float> padded(L + K - 1, 0.0f);
  for (int64_t row = 0; row < B * C; ++row) {
    const int64_t c = row % C;
    std::copy_n(x + row * L, L, padded.begin() + K - 1);
    for (int64_t l = 0; l < L; ++l) {
      float sum = bias[c];
      for (int64_t k = 0; k < K; ++k) sum += weight[c * K + k] * padded[l + k];
      y[row * L + l] = sum / (1.0f + std::exp(-sum));
    }
  }
}
