// Off by a little less than usual tolerances: 0.9e-3 of the value or 0.9e-5.
// expect: wrong_value
// class: W12
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) {
    float value = x[i] * x[i] + x[i];
    y[i] = value + 0.9e-3F * std::fabs(value) + 0.9e-5F;
  }
}
