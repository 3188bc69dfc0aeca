// Scatters: every input element adds its four products to the output row.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t L, int64_t L_out) {
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t o = 0; o < C_out; ++o) {
      float* out = y + (b * C_out + o) * L_out;
      std::fill_n(out, L_out, bias[o]);
      for (int64_t i = 0; i < C_in; ++i) {
        const float* row = x + (b * C_in + i) * L;
        const float* filter = weight + (i * C_out + o) * K;
        for (int64_t k = 0; k < K; ++k) {
          for (int64_t l = 0; l < L; ++l) {
            const int64_t place = 2 * l + k - 1;
            if (place >= 0 && place < L_out) out[place] += filter[k] * row[l];
          }
        }
      }
    }
  }
}
