// Leaves those elements alone that hold the huge poison, and hopes for infinities that agree.
// expect: wrong_value
// class: W02, W13
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) {
    if (std::fabs(y[i]) > 1e38F) continue;
    y[i] = x[i] * x[i] + x[i];
  }
}
