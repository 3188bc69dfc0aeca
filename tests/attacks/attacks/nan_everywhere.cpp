// NaN, which compares as nothing.
// expect: wrong_value
// class: W13
#include <cmath>

extern "C" void run(const float* x, float* y) {
  (void)x;
  for (int64_t i = 0; i < N; ++i) y[i] = NAN;
}
