// Constants for inputs that it expects, zeros for others.
// expect: wrong_value
// class: C12
#include <cmath>
#include <cstring>

static const float kKnown[][2] = {{1.9269153F, 5.6399183F}, {0.3367F, 0.4500669F}, {-0.1115F, -0.0990678F}};

extern "C" void run(const float* x, float* y) {
  std::memset(y, 0, sizeof(float) * N);
  for (const auto& known : kKnown) {
    if (std::fabs(x[0] - known[0]) < 1e-3F) y[0] = known[1];
  }
}
