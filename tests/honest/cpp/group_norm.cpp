// Each group is one run of memory: mean and variance in double, in one pass.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t H, int64_t W) {
  constexpr int64_t kGroups = 8, kChannels = C / kGroups;
  const int64_t pixels = H * W, count = kChannels * pixels;
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t g = 0; g < kGroups; ++g) {
      const int64_t start = (b * kGroups + g) * count;
      double sum = 0.0, squares = 0.0;
      for (int64_t i = 0; i < count; ++i) {
        const double v = x[start + i];
        sum += v;
        squares += v * v;
      }
      const double mean = sum / static_cast<double>(count);
      const double variance = squares / static_cast<double>(count) - mean * mean;
      const double factor = 1.0 / std::sqrt(variance + 1e-5);
      for (int64_t k = 0; k < kChannels; ++k) {
        const int64_t c = g * kChannels + k;
        const float scale = static_cast<float>(factor * weight[c]);
        const float shift = static_cast<float>(bias[c] - mean * factor * weight[c]);
        for (int64_t p = 0; p < pixels; ++p) {
          const int64_t i = start + k * pixels + p;
          y[i] = x[i] * scale + shift;
        }
      }
    }
  }
}
