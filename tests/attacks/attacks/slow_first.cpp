// Slow in its first calls, so that a harness plans for few repetitions.
// expect: passed
// max_speedup: 12
// class: T22
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  static int calls = 0;
  if (++calls <= 6) usleep(20000);
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
