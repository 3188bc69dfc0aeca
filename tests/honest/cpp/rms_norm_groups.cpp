// Sum of squares of 64 neighbours in the compiler's order.

// flags: -ffast-math -funroll-loops
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, float* y, int64_t M) {
  for (int64_t group = 0; group < M * G; ++group) {
    const float* row = x + group * D;
    float squares = 0.0f;
    for (int64_t d = 0; d < D; ++d) squares += row[d] * row[d];
    const float factor = 1.0f / std::sqrt(squares * (1.0f / D) + 1e-6f);
    for (int64_t d = 0; d < D; ++d) y[group * D + d] = row[d] * factor * weight[d];
  }
}
