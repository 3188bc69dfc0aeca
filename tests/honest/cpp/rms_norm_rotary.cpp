// Cosines and sines of a position serve all its heads; each head is normalised in a buffer.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* angle, const float* weight, float* y, int64_t T,
                    int64_t H) {
  float cosine[D_half], sine[D_half], row[D];
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t i = 0; i < D_half; ++i) {
      cosine[i] = std::cos(angle[t * D_half + i]);
      sine[i] = std::sin(angle[t * D_half + i]);
    }
    for (int64_t h = 0; h < H; ++h) {
      const float* head = x + (t * H + h) * D;
      float* out = y + (t * H + h) * D;
      float squares = 0.0f;
      for (int64_t d = 0; d < D; ++d) squares += head[d] * head[d];
      const float factor = 1.0f / std::sqrt(squares / D + 1e-6f);
      for (int64_t d = 0; d < D; ++d) row[d] = head[d] * factor * weight[d];
      for (int64_t i = 0; i < D_half; ++i) {
        out[i] = row[i] * cosine[i] - row[i + D_half] * sine[i];
        out[i + D_half] = row[i + D_half] * cosine[i] + row[i] * sine[i];
      }
    }
  }
}
