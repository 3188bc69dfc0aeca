// One element wrong in one call of three: audits alone would miss it.
// expect: wrong_value
// class: W15, W16
#include <cstdlib>

extern "C" void run(const float* x, float* y) {
  static unsigned calls = 0;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  if (++calls % 3 == 0) y[rand() % N] += 0.01F;
}
