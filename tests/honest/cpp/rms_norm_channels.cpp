// Squares of all pixels of an image are summed channel by channel in a buffer.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void run(const float* x, const float* weight, float* y, int64_t B, int64_t H,
                    int64_t W) {
  const int64_t pixels = H * W;
  std::vector<float> factor(pixels);
  for (int64_t b = 0; b < B; ++b) {
    const float* image = x + b * C * pixels;
    std::fill(factor.begin(), factor.end(), 0.0f);
    for (int64_t c = 0; c < C; ++c) {
      const float* plane = image + c * pixels;
      for (int64_t p = 0; p < pixels; ++p) factor[p] += plane[p] * plane[p];
    }
    for (float& f : factor) f = 1.0f / std::sqrt(f / C + 1e-6f);
    for (int64_t c = 0; c < C; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t i = (b * C + c) * pixels + p;
        y[i] = x[i] * factor[p] * weight[c];
      }
    }
  }
}
