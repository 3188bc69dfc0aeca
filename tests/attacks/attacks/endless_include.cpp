// Includes itself.
// expect: compile_error
// class: I10
#include __FILE__

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
