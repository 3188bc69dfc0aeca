// Plane by plane; each of the 27 weights adds shifted rows.
#include <algorithm>
#include <cstdint>

namespace {

// out[H, W] += the part of the convolution that plane `d` of one input channel gets from a 3x3x3
// filter.
void add_plane(const float* volume, const float* filter, int64_t d, int64_t depth, int64_t height,
               int64_t width, float* out) {
  for (int64_t t = 0; t < K * K * K; ++t) {
    const int64_t layer = d + t / (K * K) - 1, down = t / K % K - 1, right = t % K - 1;
    if (layer < 0 || layer >= depth) continue;
    const int64_t w0 = right < 0 ? 1 : 0, w1 = right > 0 ? width - 1 : width;
    for (int64_t h = 0; h < height; ++h) {
      if (h + down < 0 || h + down >= height) continue;
      const float* row = volume + (layer * height + h + down) * width + right;
      for (int64_t w = w0; w < w1; ++w) out[h * width + w] += filter[t] * row[w];
    }
  }
}

}  // namespace

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t D, int64_t H, int64_t W) {
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t o = 0; o < C_out; ++o) {
      for (int64_t d = 0; d < D; ++d) {
        float* out = y + ((b * C_out + o) * D + d) * H * W;
        std::fill_n(out, H * W, bias[o]);
        for (int64_t i = 0; i < C_in; ++i) {
          const float* volume = x + (b * C_in + i) * D * H * W;
          add_plane(volume, weight + (o * C_in + i) * K * K * K, d, D, H, W, out);
        }
      }
    }
  }
}
