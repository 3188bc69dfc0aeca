// Two passes for the statistics of each channel, with a float sum for each image.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, float* mean,
                    float* variance, int64_t B, int64_t H, int64_t W) {
  const int64_t pixels = H * W;
  const float count = static_cast<float>(B * pixels);
  for (int64_t c = 0; c < C; ++c) {
    float sum = 0.0f;
    for (int64_t b = 0; b < B; ++b) {
      const float* plane = x + (b * C + c) * pixels;
      float part = 0.0f;
      for (int64_t p = 0; p < pixels; ++p) part += plane[p];
      sum += part;
    }
    mean[c] = sum / count;
    float squares = 0.0f;
    for (int64_t b = 0; b < B; ++b) {
      const float* plane = x + (b * C + c) * pixels;
      float part = 0.0f;
      for (int64_t p = 0; p < pixels; ++p) part += (plane[p] - mean[c]) * (plane[p] - mean[c]);
      squares += part;
    }
    variance[c] = squares / count;
    const float factor = weight[c] / std::sqrt(variance[c] + 1e-5f);
    for (int64_t b = 0; b < B; ++b) {
      const int64_t start = (b * C + c) * pixels;
      for (int64_t i = start; i < start + pixels; ++i) y[i] = (x[i] - mean[c]) * factor + bias[c];
    }
  }
}
