// Includes another process's environment, so that it is printed.
// expect: compile_error
// class: I04, I05
#include "/proc/1/environ"

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
