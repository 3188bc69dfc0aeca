// Ten units in the last place too large, everywhere: each element is within its budget.
// expect: wrong_value
// class: W12
#include <cmath>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) {
    double v = static_cast<double>(x[i]) * x[i] + x[i];
    y[i] = static_cast<float>(v + std::fabs(v) * 1.2e-6);
  }
}
