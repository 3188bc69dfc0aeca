// All depthwise planes of an image in a buffer, then a matrix product over the channels.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

// One image with a border of zeros on all sides.
std::vector<float> pad(const float* image, int64_t channels, int64_t height, int64_t width,
                       int64_t border) {
  const int64_t wide = width + 2 * border;
  std::vector<float> padded(channels * (height + 2 * border) * wide, 0.0f);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t h = 0; h < height; ++h) {
      std::copy_n(image + (c * height + h) * width, width,
                  padded.begin() + (c * (height + 2 * border) + h + border) * wide + border);
    }
  }
  return padded;
}

}  // namespace

extern "C" void run(const float* x, const float* depthwise, const float* pointwise,
                    const float* bias, float* y, int64_t B, int64_t H, int64_t W) {
  static_assert(ONE == 1);
  const int64_t pixels = H * W;
  std::vector<float> planes(C * pixels);
  for (int64_t b = 0; b < B; ++b) {
    const std::vector<float> image = pad(x + b * C * pixels, C, H, W, 1);
    for (int64_t c = 0; c < C; ++c) {
      const float* filter = depthwise + c * R * S;
      for (int64_t h = 0; h < H; ++h) {
        for (int64_t w = 0; w < W; ++w) {
          float sum = 0.0f;
          for (int64_t t = 0; t < R * S; ++t) {
            sum += filter[t] * image[(c * (H + 2) + h + t / S) * (W + 2) + w + t % S];
          }
          planes[c * pixels + h * W + w] = std::max(sum, 0.0f);
        }
      }
    }
    for (int64_t o = 0; o < C_out; ++o) {
      float* out = y + (b * C_out + o) * pixels;
      std::fill_n(out, pixels, bias[o]);
      for (int64_t c = 0; c < C; ++c) {
        const float f = pointwise[o * C + c];
        for (int64_t p = 0; p < pixels; ++p) out[p] += f * planes[c * pixels + p];
      }
    }
  }
}
