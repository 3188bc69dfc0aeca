// Layer norm in two passes over each image.
#include <math.h>

extern "C" void run(const float* x, const float* ln_weight, const float* ln_bias, float* out) {
  constexpr int64_t n = x_1 * x_2 * x_3;
  constexpr int64_t lanes = 64;
  for (int64_t b = 0; b < x_0; ++b) {
    const float* image = x + b * n;
    float* to = out + b * n;
    float sums[lanes] = {}, squares[lanes] = {};
    for (int64_t i = 0; i < n; i += lanes) {
      for (int64_t l = 0; l < lanes && i + l < n; ++l) sums[l] += image[i + l];
    }
    double sum = 0, square = 0;
    for (float s : sums) sum += s;
    float mean = static_cast<float>(sum / n);
    for (int64_t i = 0; i < n; i += lanes) {
      for (int64_t l = 0; l < lanes && i + l < n; ++l) squares[l] += (image[i + l] - mean) * (image[i + l] - mean);
    }
    for (float s : squares) square += s;
    float scale = static_cast<float>(1 / sqrt(square / n + 1e-5));
    for (int64_t i = 0; i < n; ++i) to[i] = (image[i] - mean) * scale * ln_weight[i] + ln_bias[i];
  }
}
