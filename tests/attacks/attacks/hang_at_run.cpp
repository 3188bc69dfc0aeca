// Sleeps in a call.
// expect: timeout
// class: I13
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  sleep(15);
}
