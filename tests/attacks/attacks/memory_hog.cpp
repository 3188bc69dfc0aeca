// Takes all the memory it can get.
// expect: memory_limit|runtime_error|timeout
// class: I10
// (timeout where the machine takes longer than the call may to hand out so many pages)
#include <cstdlib>
#include <cstring>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  for (int i = 0; i < 4096; ++i) memset(malloc(64 << 20), 1, 64 << 20);
}
