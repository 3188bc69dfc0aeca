// Prints a passing verdict on every descriptor it has.
// expect: wrong_value
// class: T25, I06
#include <cstring>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  const char* verdict = "{\"schema\":1,\"outcome\":\"passed\",\"speedup\":{\"median\":100}}\n";
  for (int fd = 0; fd < 64; ++fd) {
    ssize_t ignored = write(fd, verdict, strlen(verdict));
    (void)ignored;
  }
}
