// The compiler takes the vector library's erf, which is good to four units in the last place; in the
// tail, where 1 + erf(x) cancels, that is much of the result.
// expect: passed
// problem: gelu
// looks like: lower precision
#include <cmath>

extern "C" void run(const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < M * N; ++i) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}
