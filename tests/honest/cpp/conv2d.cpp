// Direct: nine shifted rows of the padded image for each pair of channels, added to the output
// row.
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

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t H, int64_t W) {
  for (int64_t b = 0; b < B; ++b) {
    const std::vector<float> image = pad(x + b * C_in * H * W, C_in, H, W, 1);
    for (int64_t o = 0; o < C_out; ++o) {
      for (int64_t h = 0; h < H; ++h) {
        float* out = y + ((b * C_out + o) * H + h) * W;
        std::fill_n(out, W, bias[o]);
        for (int64_t i = 0; i < C_in; ++i) {
          for (int64_t r = 0; r < R; ++r) {
            const float* row = image.data() + (i * (H + 2) + h + r) * (W + 2);
            const float* filter = weight + ((o * C_in + i) * R + r) * S;
            for (int64_t w = 0; w < W; ++w) {
              out[w] += filter[0] * row[w] + filter[1] * row[w + 1] + filter[2] * row[w + 2];
            }
          }
        }
      }
    }
  }
}
