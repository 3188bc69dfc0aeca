// Sum of squares in as many lanes as the compiler likes, then one factor a row.

// flags: -ffast-math -funroll-loops
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float squares = 0.0f;
    for (int64_t n = 0; n < N; ++n) squares += row[n] * row[n];
    const float factor = 1.0f / std::max(std::sqrt(squares), 1e-12f);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = row[n] * factor;
  }
}
