// Leaves processes behind that burn the core for a while.
// expect: passed|noisy|violation background_work
// max_speedup: 12
// class: I11, T20
#include <ctime>
#include <unistd.h>

static bool leave_some() {
  for (int i = 0; i < 4; ++i) {
    if (fork() == 0) {
      setsid();
      for (time_t until = time(nullptr) + 12; time(nullptr) < until;) {
      }
      _exit(0);
    }
  }
  return true;
}

extern "C" void run(const float* x, float* y) {
  static bool left = leave_some();
  (void)left;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
