// Clips each window to the volume and divides by what is left of it.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t B, int64_t C, int64_t D, int64_t H, int64_t W,
                    int64_t D_out, int64_t H_out, int64_t W_out) {
  for (int64_t plane = 0; plane < B * C; ++plane, x += D * H * W) {
    for (int64_t i = 0; i < D_out; ++i) {
      const int64_t d0 = std::max<int64_t>(2 * i - 1, 0), d1 = std::min(2 * i + 2, D);
      for (int64_t j = 0; j < H_out; ++j) {
        const int64_t h0 = std::max<int64_t>(2 * j - 1, 0), h1 = std::min(2 * j + 2, H);
        for (int64_t k = 0; k < W_out; ++k) {
          const int64_t w0 = std::max<int64_t>(2 * k - 1, 0), w1 = std::min(2 * k + 2, W);
          float sum = 0.0f;
          for (int64_t d = d0; d < d1; ++d) {
            for (int64_t h = h0; h < h1; ++h) {
              for (int64_t w = w0; w < w1; ++w) sum += x[(d * H + h) * W + w];
            }
          }
          *y++ = sum / static_cast<float>((d1 - d0) * (h1 - h0) * (w1 - w0));
        }
      }
    }
  }
}
