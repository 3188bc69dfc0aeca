// A patch is gathered into a buffer; dot products with the filters in the compiler's order.

// flags: -ffast-math -funroll-loops
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, const float* bias, const float* position,
                    float* y, int64_t B, int64_t H, int64_t P) {
  constexpr int64_t kTerms = C * R * R;
  const int64_t side = H / R;
  float patch[kTerms];
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t p = 0; p < P; ++p) {
      const float* corner = x + b * C * H * H + p / side * R * H + p % side * R;
      for (int64_t line = 0; line < C * R; ++line) {
        std::copy_n(corner + (line / R * H + line % R) * H, R, patch + line * R);
      }
      for (int64_t d = 0; d < D; ++d) {
        float sum = 0.0f;
        for (int64_t t = 0; t < kTerms; ++t) sum += patch[t] * weight[d * kTerms + t];
        y[(b * P + p) * D + d] = sum + bias[d] + position[p * D + d];
      }
    }
  }
}
