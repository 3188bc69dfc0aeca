// Makes as many files as it can, then computes.
// expect: passed|timeout
// max_speedup: 12
// class: I10
#include <cstdio>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

static bool flood() {
  for (const char* folder : {"/tmp", "/work", "/dev/shm"}) {
    for (int i = 0; i < 100000; ++i) {
      char path[64];
      snprintf(path, sizeof path, "%s/f%d", folder, i);
      int fd = open(path, O_CREAT | O_WRONLY, 0600);
      if (fd < 0) break;
      close(fd);
    }
  }
  return true;
}

extern "C" void run(const float* x, float* y) {
  static bool flooded = flood();
  (void)flooded;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
