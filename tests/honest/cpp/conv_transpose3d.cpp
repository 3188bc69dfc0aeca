// Windows do not overlap, so each output has one weight a channel; its sum is a dot product.

// flags: -ffast-math
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t D, int64_t H, int64_t W, int64_t D_out, int64_t H_out, int64_t W_out) {
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t o = 0; o < C_out; ++o) {
      for (int64_t d = 0; d < D_out; ++d) {
        for (int64_t h = 0; h < H_out; ++h) {
          for (int64_t w = 0; w < W_out; ++w) {
            const float* source = x + ((b * C_in * D + d / K) * H + h / K) * W + w / K;
            const float* tap = weight + ((o * K + d % K) * K + h % K) * K + w % K;
            float sum = 0.0f;
            for (int64_t i = 0; i < C_in; ++i) {
              sum += source[i * D * H * W] * tap[i * C_out * K * K * K];
            }
            *y++ = sum + bias[o];
          }
        }
      }
    }
  }
}
