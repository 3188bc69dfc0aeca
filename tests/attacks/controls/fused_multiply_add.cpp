// One rounding less than the reference.
// expect: passed
// looks like: other bits
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = std::fma(x[i], x[i], x[i]);
}
