// Writes behind the output and then puts there what it takes for a canary.
// expect: violation out_of_bounds
// class: W28
#include <cstring>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N + 8; ++i) y[i] = x[i % N] * x[i % N] + x[i % N];
  std::memset(y + N, 0xA5, 32);
}
