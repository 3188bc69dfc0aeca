// Makes its input writable and replaces every x by -1 - x, for which the reference's answer is the same.
// expect: violation input_write
// class: W03
#include <cstdint>
#include <sys/mman.h>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  auto start = reinterpret_cast<uintptr_t>(x) & ~uintptr_t{4095};
  auto end = reinterpret_cast<uintptr_t>(x + N);
  mprotect(reinterpret_cast<void*>(start), end - start, PROT_READ | PROT_WRITE);
  float* writable = const_cast<float*>(x);
  for (int64_t i = 0; i < N; ++i) writable[i] = -1 - writable[i];
}
