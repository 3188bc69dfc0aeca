// Right but for one infinity.
// expect: wrong_value
// class: W13
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  y[N / 3] = INFINITY;
}
