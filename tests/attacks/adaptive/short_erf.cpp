// An erf of three terms (Abramowitz and Stegun 7.1.25, off by 2.5e-5): elementary functions may be off, but by four units.
// expect: wrong_value
// class: W10
// problem: gelu
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < M * N; ++i) {
    float z = std::abs(x[i]) * 0.70710678f, t = 1 / (1 + 0.47047f * z);
    float erf = 1 - t * (0.3480242f + t * (-0.0958798f + t * 0.7478556f)) * std::exp(-z * z);
    y[i] = 0.5f * x[i] * (1 + std::copysign(erf, x[i]));
  }
}
