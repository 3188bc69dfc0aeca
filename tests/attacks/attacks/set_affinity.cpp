// Moves to the checker's core; right only if it may.
// expect: wrong_value
// class: T20
#include <sched.h>

extern "C" void run(const float* x, float* y) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
