// An erf that ends one step of four units below 1, as vector libraries' may; in the tail, where
// 1 + erf(x) cancels, that is much of the result.
// expect: passed
// problem: gelu
// looks like: lower precision
#include <algorithm>
#include <cmath>

extern "C" void run(const float* x, float* y) {
  constexpr float largest = 1 - 0x1p-22f;
  for (int64_t i = 0; i < M * N; ++i)
    y[i] = 0.5f * x[i] * (1 + std::clamp(erff(x[i] * 0.70710678f), -largest, largest));
}
