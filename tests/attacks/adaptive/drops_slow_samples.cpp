// Slow in every twelfth call, in which it also faults pages, so that the sample is dropped: less than a tenth of them.
// expect: passed|noisy
// max_speedup: 8
// class: T22, T23
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  static unsigned calls = 0;
  if (++calls % 12 == 0) {
    void* block = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(block, 1, 1 << 20);
    munmap(block, 1 << 20);
    usleep(2000);
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
