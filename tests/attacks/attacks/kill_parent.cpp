// Kills everything that it may kill.
// expect: wrong_value|runtime_error
// class: T26
#include <signal.h>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  kill(getppid(), 9);
  for (int pid = 2; pid < 40000; ++pid) {
    if (pid != getpid()) kill(pid, 9);
  }
}
