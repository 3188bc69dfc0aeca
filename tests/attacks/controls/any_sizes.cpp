// Takes whole blocks of 16 first, and a tail at sizes that no prompt shows.
// expect: passed
// problem: any_size
// looks like: a kernel for the announced sizes
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t n) {
  const int64_t whole = n / 16 * 16;
  for (int64_t i = 0; i < whole; ++i) y[i] = x[i] * x[i] + x[i];
  for (int64_t i = whole; i < n; ++i) y[i] = x[i] * x[i] + x[i];
}
