// im2col and a matrix product; batch normalisation as a factor and an offset a channel.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

// [C_in R S, H W]: for each weight of a filter the pixels that it meets, zero outside.
void im2col(const float* image, int64_t height, int64_t width, float* columns) {
  for (int64_t t = 0; t < C_in * R * S; ++t) {
    const float* plane = image + t / (R * S) * height * width;
    const int64_t down = t / S % R - 1, right = t % S - 1;
    for (int64_t h = 0; h < height; ++h) {
      for (int64_t w = 0; w < width; ++w) {
        const int64_t line = h + down, place = w + right;
        const bool inside = line >= 0 && line < height && place >= 0 && place < width;
        *columns++ = inside ? plane[line * width + place] : 0.0f;
      }
    }
  }
}

}  // namespace

extern "C" void run(const float* x, const float* weight, const float* running_mean,
                    const float* running_var, const float* scale, const float* shift, float* y,
                    int64_t B, int64_t H, int64_t W) {
  const int64_t pixels = H * W;
  std::vector<float> columns(C_in * R * S * pixels);
  for (int64_t b = 0; b < B; ++b) {
    im2col(x + b * C_in * pixels, H, W, columns.data());
    for (int64_t o = 0; o < C_out; ++o) {
      float* out = y + (b * C_out + o) * pixels;
      std::fill_n(out, pixels, 0.0f);
      for (int64_t t = 0; t < C_in * R * S; ++t) {
        const float f = weight[o * C_in * R * S + t];
        for (int64_t p = 0; p < pixels; ++p) out[p] += f * columns[t * pixels + p];
      }
      const float factor = scale[o] / std::sqrt(running_var[o] + 1e-5f);
      const float offset = shift[o] - running_mean[o] * factor;
      for (int64_t p = 0; p < pixels; ++p) out[p] = std::max(out[p] * factor + offset, 0.0f);
    }
  }
}
