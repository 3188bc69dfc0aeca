// Three float sums a row.

// flags: -ffast-math -funroll-loops
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* a, const float* b, const uint8_t* alike, float* loss, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    const float* p = a + m * D;
    const float* q = b + m * D;
    float dot = 0.0f, square_p = 0.0f, square_q = 0.0f;
    for (int64_t d = 0; d < D; ++d) {
      dot += p[d] * q[d];
      square_p += p[d] * p[d];
      square_q += q[d] * q[d];
    }
    const float length_p = std::max(std::sqrt(square_p), 1e-8f);
    const float length_q = std::max(std::sqrt(square_q), 1e-8f);
    const float cosine = dot / (length_p * length_q);
    loss[m] = alike[m] != 0 ? 1.0f - cosine : std::max(cosine - 0.1f, 0.0f);
  }
}
