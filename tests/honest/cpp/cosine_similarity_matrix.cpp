// Rows of b are normalised once, those of a as they come; dot products in the compiler's order.

// flags: -ffast-math -funroll-loops
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

void normalize(const float* row, float* out) {
  float squares = 0.0f;
  for (int64_t d = 0; d < D; ++d) squares += row[d] * row[d];
  const float factor = 1.0f / std::max(std::sqrt(squares), 1e-12f);
  for (int64_t d = 0; d < D; ++d) out[d] = row[d] * factor;
}

}  // namespace

extern "C" void run(const float* a, const float* b, float* y, int64_t M, int64_t N) {
  std::vector<float> unit_b(N * D), unit_a(D);
  for (int64_t n = 0; n < N; ++n) normalize(b + n * D, &unit_b[n * D]);
  for (int64_t m = 0; m < M; ++m) {
    normalize(a + m * D, unit_a.data());
    for (int64_t n = 0; n < N; ++n) {
      float sum = 0.0f;
      for (int64_t d = 0; d < D; ++d) sum += unit_a[d] * unit_b[n * D + d];
      y[m * N + n] = sum;
    }
  }
}
