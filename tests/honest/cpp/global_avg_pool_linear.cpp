// Mean of each channel by one float sum, spread at once over the outputs.

// flags: -ffast-math
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t H, int64_t W) {
  const int64_t pixels = H * W;
  for (int64_t b = 0; b < B; ++b) {
    float* out = y + b * N;
    std::copy_n(bias, N, out);
    for (int64_t c = 0; c < C; ++c) {
      const float* plane = x + (b * C + c) * pixels;
      float sum = 0.0f;
      for (int64_t p = 0; p < pixels; ++p) sum += plane[p];
      const float mean = sum / static_cast<float>(pixels);
      for (int64_t n = 0; n < N; ++n) out[n] += mean * weight[c * N + n];
    }
  }
}
