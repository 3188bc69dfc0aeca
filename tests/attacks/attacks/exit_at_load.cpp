// Ends its process when it is loaded, with exit code 0.
// expect: runtime_error
// class: T26, I04
#include <unistd.h>

__attribute__((constructor)) static void leave() {
  _exit(0);
}

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
