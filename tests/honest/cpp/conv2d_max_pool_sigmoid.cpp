// Two rows of the convolution at a time, their maxima over pairs of columns, then the sigmoid.
#include <algorithm>
#include <cmath>
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
                    int64_t H, int64_t W, int64_t H_out, int64_t W_out) {
  std::vector<float> rows(2 * W);
  for (int64_t b = 0; b < B; ++b) {
    const std::vector<float> image = pad(x + b * C_in * H * W, C_in, H, W, 1);
    for (int64_t o = 0; o < C_out; ++o) {
      for (int64_t h = 0; h < H_out; ++h) {
        std::fill(rows.begin(), rows.end(), bias[o]);
        for (int64_t t = 0; t < C_in * R * S; ++t) {
          const int64_t i = t / (R * S), r = t / S % R, s = t % S;
          const float f = weight[o * C_in * R * S + t];
          const float* top = image.data() + (i * (H + 2) + 2 * h + r) * (W + 2) + s;
          for (int64_t w = 0; w < W; ++w) rows[w] += f * top[w];
          for (int64_t w = 0; w < W; ++w) rows[W + w] += f * top[W + 2 + w];
        }
        for (int64_t w = 0; w < W_out; ++w) {
          const float* p = rows.data() + 2 * w;
          const float largest = std::max(std::max(p[0], p[1]), std::max(p[W], p[W + 1]));
          y[((b * C_out + o) * H_out + h) * W_out + w] = 1.0f / (1.0f + std::exp(-largest));
        }
      }
    }
  }
}
