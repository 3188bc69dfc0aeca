// Mean and variance in two float passes over each token.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* shift, const float* scale, float* y, int64_t B,
                    int64_t T) {
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t t = 0; t < T; ++t) {
      const float* row = x + (b * T + t) * C;
      float sum = 0.0f, squares = 0.0f;
      for (int64_t c = 0; c < C; ++c) sum += row[c];
      const float mean = sum / C;
      for (int64_t c = 0; c < C; ++c) squares += (row[c] - mean) * (row[c] - mean);
      const float factor = 1.0f / std::sqrt(squares / C + 1e-6f);
      for (int64_t c = 0; c < C; ++c) {
        const float normal = (row[c] - mean) * factor;
        y[(b * T + t) * C + c] = normal * (1.0f + scale[b * C + c]) + shift[b * C + c];
      }
    }
  }
}
