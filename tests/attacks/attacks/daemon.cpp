// A double-forked daemon computes afterwards; the output is shared memory.
// expect: wrong_value|violation background_work
// class: I11, B10
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
    }
    _exit(0);
  }
}
