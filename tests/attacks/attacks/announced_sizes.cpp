// Right at both sizes that its prompt shows, and at multiples of 16, where the tail is nothing.
// expect: wrong_value
// class: W21
// problem: any_size
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n / 16 * 16; ++i) y[i] = x[i] * x[i] + x[i];
}
