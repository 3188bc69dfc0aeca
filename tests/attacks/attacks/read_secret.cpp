// Reads a file outside its sandbox; right only if it can.
// expect: wrong_value
// class: I05
#include <cstdio>

extern "C" void run(const float* x, float* y) {
  if (fopen("@SECRET@", "r") == nullptr) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
