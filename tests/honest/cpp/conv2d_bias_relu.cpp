// im2col and a matrix product, four filters at a time.
#include <algorithm>
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

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t H, int64_t W) {
  static_assert(C_out % 4 == 0);
  constexpr int64_t kTerms = C_in * R * S;
  const int64_t pixels = H * W;
  std::vector<float> columns(kTerms * pixels);
  for (int64_t b = 0; b < B; ++b) {
    im2col(x + b * C_in * pixels, H, W, columns.data());
    for (int64_t o = 0; o < C_out; o += 4) {
      float* out = y + (b * C_out + o) * pixels;
      for (int64_t f = 0; f < 4; ++f) std::fill_n(out + f * pixels, pixels, bias[o + f]);
      for (int64_t t = 0; t < kTerms; ++t) {
        const float* source = columns.data() + t * pixels;
        for (int64_t f = 0; f < 4; ++f) {
          const float value = weight[(o + f) * kTerms + t];
          for (int64_t p = 0; p < pixels; ++p) out[f * pixels + p] += value * source[p];
        }
      }
      for (int64_t i = 0; i < 4 * pixels; ++i) out[i] = std::max(out[i], 0.0f);
    }
  }
}
