// Sleeps in a call.
// expect: timeout
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  sleep(15);
}
