// Garbage in the first launches, which are checked but not measured, then honest.
// expect: wrong_value
// class: W15, T22
#include <cstring>

extern "C" void run(const float* x, float* y) {
  static int calls = 0;
  if (++calls <= 2) {
    std::memset(y, 0, sizeof(float) * N);
    return;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
