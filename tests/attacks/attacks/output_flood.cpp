// Prints without end (64 MiB).
// expect: output_limit
// class: I10
#include <cstring>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  for (int i = 0; i < 64 << 10; ++i) {
    char line[1024];
    memset(line, 27, sizeof line);
    ssize_t ignored = write(1, line, sizeof line);
    (void)ignored;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
