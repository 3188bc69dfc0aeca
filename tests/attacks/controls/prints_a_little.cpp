// Prints a line in its first call.
// expect: passed
// looks like: forged output
#include <cstdio>

extern "C" void run(const float* x, float* y) {
  static bool said = (std::puts("square_plus: 4 MiB"), true);
  (void)said;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
