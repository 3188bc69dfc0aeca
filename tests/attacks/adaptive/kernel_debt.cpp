// Leaves work for the kernel behind each call, many files to be forgotten, while the reference runs.
// expect: passed|noisy
// max_speedup: 8
// class: T20
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  for (int i = 0; i < 300; ++i) {
    char path[32];
    snprintf(path, sizeof path, "/tmp/d%d", i);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    unlink(path);
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
