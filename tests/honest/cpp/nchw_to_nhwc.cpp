// Tiles of 32 pixels by all channels: each tile is read along pixels and written along channels.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t B, int64_t C, int64_t H, int64_t W) {
  const int64_t pixels = H * W;
  for (int64_t b = 0; b < B; ++b) {
    const float* image = x + b * C * pixels;
    float* out = y + b * C * pixels;
    for (int64_t p0 = 0; p0 < pixels; p0 += 32) {
      const int64_t end = std::min<int64_t>(p0 + 32, pixels);
      for (int64_t c = 0; c < C; ++c) {
        for (int64_t p = p0; p < end; ++p) out[p * C + c] = image[c * pixels + p];
      }
    }
  }
}
