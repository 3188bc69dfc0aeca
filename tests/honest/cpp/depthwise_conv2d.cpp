// Nine terms a pixel, those outside the image left out.
#include <cstdint>

extern "C" void run(const float* x, const float* weight, float* y, int64_t B, int64_t H, int64_t W,
                    int64_t H_out, int64_t W_out) {
  static_assert(ONE == 1);
  for (int64_t plane = 0; plane < B * C; ++plane) {
    const float* image = x + plane * H * W;
    const float* filter = weight + plane % C * R * S;
    for (int64_t h = 0; h < H_out; ++h) {
      for (int64_t w = 0; w < W_out; ++w) {
        float sum = 0.0f;
        for (int64_t r = 0; r < R; ++r) {
          for (int64_t s = 0; s < S; ++s) {
            const int64_t line = 2 * h + r - 1, place = 2 * w + s - 1;
            if (line < 0 || line >= H || place < 0 || place >= W) continue;
            sum += filter[r * S + s] * image[line * W + place];
          }
        }
        *y++ = sum;
      }
    }
  }
}
