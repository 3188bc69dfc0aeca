// Kills itself as the kernel would when memory runs out.
// expect: runtime_error
// class: T26, I12
#include <csignal>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  raise(SIGKILL);
}
