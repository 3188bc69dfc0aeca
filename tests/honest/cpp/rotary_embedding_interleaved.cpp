// Cosine and sine once for all heads of a position.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* angle, float* y, int64_t T, int64_t H) {
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t i = 0; i < D_half; ++i) {
      const float c = std::cos(angle[t * D_half + i]), s = std::sin(angle[t * D_half + i]);
      for (int64_t h = 0; h < H; ++h) {
        const int64_t base = (t * H + h) * D + 2 * i;
        const float even = x[base], odd = x[base + 1];
        y[base] = even * c - odd * s;
        y[base + 1] = odd * c + even * s;
      }
    }
  }
}
