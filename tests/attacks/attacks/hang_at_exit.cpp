// Right, but would sleep when it exits.
// expect: passed
// max_speedup: 12
// class: T26, I13
#include <cstdlib>
#include <unistd.h>

static int registered = atexit([] { sleep(15); });

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
