// Three sums a row in double.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* p = a + m * N;
    const float* q = b + m * N;
    double dot = 0.0, square_p = 0.0, square_q = 0.0;
    for (int64_t n = 0; n < N; ++n) {
      dot += static_cast<double>(p[n]) * q[n];
      square_p += static_cast<double>(p[n]) * p[n];
      square_q += static_cast<double>(q[n]) * q[n];
    }
    const double length_p = std::max(std::sqrt(square_p), 1e-8);
    const double length_q = std::max(std::sqrt(square_q), 1e-8);
    y[m] = static_cast<float>(dot / (length_p * length_q));
  }
}
