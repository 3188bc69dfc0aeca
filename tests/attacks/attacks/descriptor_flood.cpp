// Opens as many descriptors as it can and keeps them.
// expect: passed
// max_speedup: 12
// class: I10
#include <fcntl.h>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  static bool opened = [] {
    for (int i = 0; i < 200000 && open("/dev/null", O_RDONLY) >= 0; ++i) {
    }
    return true;
  }();
  (void)opened;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
