// One multiplication and one addition a pixel, with factors worked out for each channel.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* running_mean, const float* running_var,
                    const float* weight, const float* bias, float* y, int64_t B, int64_t H,
                    int64_t W) {
  const int64_t pixels = H * W;
  for (int64_t plane = 0; plane < B * C; ++plane) {
    const int64_t c = plane % C;
    const float factor = weight[c] / std::sqrt(running_var[c] + 1e-5f);
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t i = plane * pixels + p;
      y[i] = (x[i] - running_mean[c]) * factor + bias[c];
    }
  }
}
