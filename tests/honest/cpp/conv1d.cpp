// For each weight the shifted input row is added to the output row.

// flags: -ffast-math -funroll-loops
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t L) {
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t o = 0; o < C_out; ++o) {
      float* out = y + (b * C_out + o) * L;
      std::fill_n(out, L, bias[o]);
      for (int64_t i = 0; i < C_in; ++i) {
        const float* row = x + (b * C_in + i) * L;
        for (int64_t k = 0; k < K; ++k) {
          const int64_t shift = k - 2;
          const float w = weight[(o * C_in + i) * K + k];
          const int64_t begin = std::max<int64_t>(-shift, 0), end = std::min(L, L - shift);
          for (int64_t l = begin; l < end; ++l) out[l] += w * row[l + shift];
        }
      }
    }
  }
}
