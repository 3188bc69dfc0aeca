// Channel means in double, the two small layers in float.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* down, const float* up, float* y, int64_t B,
                    int64_t H, int64_t W) {
  const int64_t pixels = H * W;
  for (int64_t b = 0; b < B; ++b) {
    float mean[C], hidden[R] = {}, share[C] = {};
    for (int64_t c = 0; c < C; ++c) {
      double sum = 0.0;
      for (int64_t p = 0; p < pixels; ++p) sum += x[(b * C + c) * pixels + p];
      mean[c] = static_cast<float>(sum / static_cast<double>(pixels));
    }
    for (int64_t c = 0; c < C; ++c) {
      for (int64_t r = 0; r < R; ++r) hidden[r] += mean[c] * down[c * R + r];
    }
    for (int64_t r = 0; r < R; ++r) {
      for (int64_t c = 0; c < C; ++c) share[c] += std::max(hidden[r], 0.0f) * up[r * C + c];
    }
    for (int64_t c = 0; c < C; ++c) {
      const float factor = 1.0f / (1.0f + std::exp(-share[c]));
      const int64_t start = (b * C + c) * pixels;
      for (int64_t i = start; i < start + pixels; ++i) y[i] = x[i] * factor;
    }
  }
}
