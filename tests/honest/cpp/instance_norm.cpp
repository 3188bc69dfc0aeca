// Welford's mean and variance of each plane, in double.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t H, int64_t W) {
  const int64_t pixels = H * W;
  for (int64_t plane = 0; plane < B * C; ++plane) {
    const float* p = x + plane * pixels;
    double mean = 0.0, squares = 0.0;
    for (int64_t i = 0; i < pixels; ++i) {
      const double delta = p[i] - mean;
      mean += delta / static_cast<double>(i + 1);
      squares += delta * (p[i] - mean);
    }
    const float centre = static_cast<float>(mean);
    const double variance = squares / static_cast<double>(pixels);
    const float factor = static_cast<float>(weight[plane % C] / std::sqrt(variance + 1e-5));
    for (int64_t i = 0; i < pixels; ++i) {
      y[plane * pixels + i] = (p[i] - centre) * factor + bias[plane % C];
    }
  }
}
