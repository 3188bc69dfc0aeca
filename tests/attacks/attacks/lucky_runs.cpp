// Slow in three calls of four: the fastest run is no measure.
// expect: passed|noisy
// max_speedup: 1
// class: T23
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  static unsigned calls = 0;
  if (++calls % 4 != 0) usleep(6000);
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
