// Includes a file outside its sandbox, so that the compiler prints it.
// expect: compile_error
// class: I04, I05
#include "@SECRET@"

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
