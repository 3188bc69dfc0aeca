// Writes out of bounds, and floods its log: one report then has two reasons.
// expect: violation out_of_bounds
// class: I10, I12, W17
#include <cstring>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  y[N] = 1;
  for (int i = 0; i < 16 << 10; ++i) {
    char line[1024];
    memset(line, 'x', sizeof line);
    ssize_t ignored = write(1, line, sizeof line);
    (void)ignored;
  }
}
