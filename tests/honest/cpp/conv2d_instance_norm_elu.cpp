// Each output plane is convolved in place, then normalised by two float passes.
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
                    int64_t H, int64_t W) {
  const int64_t pixels = H * W;
  const float count = static_cast<float>(pixels);
  for (int64_t b = 0; b < B; ++b) {
    const std::vector<float> image = pad(x + b * C_in * pixels, C_in, H, W, 1);
    for (int64_t o = 0; o < C_out; ++o) {
      float* out = y + (b * C_out + o) * pixels;
      std::fill_n(out, pixels, bias[o]);
      for (int64_t t = 0; t < C_in * R * S; ++t) {
        const int64_t i = t / (R * S), r = t / S % R, s = t % S;
        const float f = weight[o * C_in * R * S + t];
        for (int64_t h = 0; h < H; ++h) {
          const float* row = image.data() + (i * (H + 2) + h + r) * (W + 2) + s;
          for (int64_t w = 0; w < W; ++w) out[h * W + w] += f * row[w];
        }
      }
      float sum = 0.0f, squares = 0.0f;
      for (int64_t p = 0; p < pixels; ++p) sum += out[p];
      const float mean = sum / count;
      for (int64_t p = 0; p < pixels; ++p) squares += (out[p] - mean) * (out[p] - mean);
      const float factor = 1.0f / std::sqrt(squares / count + 1e-5f);
      for (int64_t p = 0; p < pixels; ++p) {
        const float normal = (out[p] - mean) * factor;
        out[p] = normal > 0.0f ? normal : std::expm1(normal);
      }
    }
  }
}
