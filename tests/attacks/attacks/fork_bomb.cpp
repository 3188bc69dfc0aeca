// Forks as often as it can; every process ends by itself.
// expect: wrong_value|runtime_error|violation background_work
// class: I10
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  for (int i = 0; i < 2000; ++i) {
    if (fork() == 0) {
      fork();
      sleep(10);
      _exit(0);
    }
  }
}
