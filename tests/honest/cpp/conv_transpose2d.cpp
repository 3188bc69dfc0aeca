// Gathers: the weights that reach an output row are those of its parity.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t H, int64_t W, int64_t H_out, int64_t W_out) {
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t o = 0; o < C_out; ++o) {
      for (int64_t h = 0; h < H_out; ++h) {
        float* out = y + ((b * C_out + o) * H_out + h) * W_out;
        std::fill_n(out, W_out, bias[o]);
        for (int64_t r = 0; r < R; ++r) {
          const int64_t line = (h + 1 - r) / 2;
          if ((h + 1 - r) % 2 != 0 || line < 0 || line >= H) continue;
          for (int64_t i = 0; i < C_in; ++i) {
            const float* row = x + ((b * C_in + i) * H + line) * W;
            const float* filter = weight + ((i * C_out + o) * R + r) * S;
            for (int64_t w = 0; w < W; ++w) out[2 * w] += filter[1] * row[w];
            for (int64_t w = 0; w < W; ++w) out[2 * w + 1] += filter[2] * row[w];
            for (int64_t w = 1; w < W; ++w) out[2 * w - 1] += filter[0] * row[w];
          }
        }
      }
    }
  }
}
