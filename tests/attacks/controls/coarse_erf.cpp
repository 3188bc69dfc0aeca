// An erf that stops four units below 1 until its argument is 4, as vector libraries' may; in the tail,
// where 1 + erf(x) cancels, that is much of the result.
// expect: passed
// problem: gelu
// looks like: lower precision
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < M * N; ++i) {
    float z = x[i] * 0.70710678f, largest = std::abs(z) < 4 ? 1 - 0x1p-22f : 1;
    y[i] = 0.5f * x[i] * (1 + std::clamp(erff(z), -largest, largest));
  }
}
