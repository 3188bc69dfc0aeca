// A matrix product for each image: planes of the input are added to planes of the output.

// flags: -ffast-math
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t H, int64_t W) {
  static_assert(ONE == 1);
  const int64_t pixels = H * W;
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t o = 0; o < C_out; ++o) {
      float* out = y + (b * C_out + o) * pixels;
      std::fill_n(out, pixels, 0.0f);
      for (int64_t i = 0; i < C_in; ++i) {
        const float* plane = x + (b * C_in + i) * pixels;
        for (int64_t p = 0; p < pixels; ++p) out[p] += weight[o * C_in + i] * plane[p];
      }
      for (int64_t p = 0; p < pixels; ++p) out[p] += bias[o];
    }
  }
}
