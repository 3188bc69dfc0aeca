// The window of an output pixel is gathered, then multiplied with all filters at once.
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t H, int64_t W, int64_t H_out, int64_t W_out) {
  constexpr int64_t kTerms = C_in * R * S;
  std::vector<float> filters(kTerms * C_out);  // [C_in R S, C_out]
  for (int64_t o = 0; o < C_out; ++o) {
    for (int64_t t = 0; t < kTerms; ++t) filters[t * C_out + o] = weight[o * kTerms + t];
  }
  for (int64_t pixel = 0; pixel < B * H_out * W_out; ++pixel) {
    const int64_t b = pixel / (H_out * W_out), h = pixel / W_out % H_out, w = pixel % W_out;
    float sum[C_out];
    std::copy_n(bias, C_out, sum);
    for (int64_t t = 0; t < kTerms; ++t) {
      const int64_t i = t / (R * S), line = 2 * h + t / S % R - 1, place = 2 * w + t % S - 1;
      if (line < 0 || line >= H || place < 0 || place >= W) continue;
      const float value = x[((b * C_in + i) * H + line) * W + place];
      for (int64_t o = 0; o < C_out; ++o) sum[o] += value * filters[t * C_out + o];
    }
    for (int64_t o = 0; o < C_out; ++o) y[((b * C_out + o) * H_out + h) * W_out + w] = sum[o];
  }
}
