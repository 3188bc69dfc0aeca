// Faults so many pages that no honest time can be given: noisy is nobody's fault. What is wrong is wrong first.
// expect: wrong_value
// class: I12, T23
#include <cstring>
#include <sys/mman.h>

extern "C" void run(const float* x, float* y) {
  void* block = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(block, 1, 1 << 20);
  munmap(block, 1 << 20);
  for (int64_t i = 0; i < N - 1; ++i) y[i] = x[i] * x[i] + x[i];
  y[N - 1] = 0;
}
