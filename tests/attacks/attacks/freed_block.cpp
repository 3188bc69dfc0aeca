// Copies whatever a fresh allocation holds, which may be an old answer.
// expect: wrong_value
// class: W01
#include <cstdlib>
#include <cstring>

extern "C" void run(const float* x, float* y) {
  (void)x;
  void* block = std::malloc(sizeof(float) * N);
  std::memcpy(y, block, sizeof(float) * N);
  std::free(block);
}
