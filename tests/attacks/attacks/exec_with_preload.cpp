// Starts its own process again with a library of its choice in front.
// expect: runtime_error|violation|timeout
// class: T08
#include <cstdlib>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  setenv("LD_PRELOAD", "/work/clock.so", 1);
  char name[] = "executor";
  char* arguments[] = {name, nullptr};
  execv("/proc/self/exe", arguments);
}
