// RMS over the channels, all positions of an image at once.
#include <math.h>

extern "C" void run(const float* x, float* out) {
  constexpr int64_t positions = x_2 * x_3;
  static float scale[positions];
  for (int64_t b = 0; b < x_0; ++b) {
    const float* image = x + b * x_1 * positions;
    float* to = out + b * x_1 * positions;
    for (int64_t p = 0; p < positions; ++p) scale[p] = 0;
    for (int64_t c = 0; c < x_1; ++c) {
      for (int64_t p = 0; p < positions; ++p) scale[p] += image[c * positions + p] * image[c * positions + p];
    }
    for (int64_t p = 0; p < positions; ++p) scale[p] = 1 / sqrtf(scale[p] / x_1 + static_cast<float>(eps));
    for (int64_t c = 0; c < x_1; ++c) {
      for (int64_t p = 0; p < positions; ++p) to[c * positions + p] = image[c * positions + p] * scale[p];
    }
  }
}
