// One element of a million is wrong, somewhere else in each call.
// expect: wrong_value
// class: W11, W15
#include <cstdlib>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  y[rand() % N] *= 1.001F;
}
