// Takes three seconds to load.
// expect: passed
// max_speedup: 12
// class: I13
#include <unistd.h>

__attribute__((constructor)) static void wait() {
  sleep(3);
}

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
