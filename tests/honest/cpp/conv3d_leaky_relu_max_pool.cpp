// Two planes of the convolution in a buffer; the ReLU comes after the maximum, as it is monotonic.
#include <algorithm>
#include <cstdint>
#include <vector>

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
                    int64_t D, int64_t H, int64_t W, int64_t D_out, int64_t H_out, int64_t W_out) {
  std::vector<float> planes(2 * H * W);
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t o = 0; o < C_out; ++o) {
      for (int64_t d = 0; d < D_out; ++d) {
        std::fill(planes.begin(), planes.end(), bias[o]);
        for (int64_t i = 0; i < C_in; ++i) {
          const float* volume = x + (b * C_in + i) * D * H * W;
          const float* filter = weight + (o * C_in + i) * K * K * K;
          add_plane(volume, filter, 2 * d, D, H, W, planes.data());
          add_plane(volume, filter, 2 * d + 1, D, H, W, planes.data() + H * W);
        }
        for (int64_t h = 0; h < H_out; ++h) {
          for (int64_t w = 0; w < W_out; ++w) {
            const float* corner = planes.data() + 2 * h * W + 2 * w;
            float largest = corner[0];
            for (int64_t row : {int64_t{0}, W, H * W, H * W + W}) {
              largest = std::max(largest, std::max(corner[row], corner[row + 1]));
            }
            *y++ = largest > 0.0f ? largest : 0.1f * largest;
          }
        }
      }
    }
  }
}
