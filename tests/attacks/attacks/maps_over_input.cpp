// Puts memory of its own over the input mapping, zeros that stay from call to call.
// expect: wrong_value
// class: W03
#include <cstdint>
#include <sys/mman.h>

extern "C" void run(const float* x, float* y) {
  auto start = reinterpret_cast<uintptr_t>(x) & ~uintptr_t{4095};
  auto end = (reinterpret_cast<uintptr_t>(x + N) + 4095) & ~uintptr_t{4095};
  mmap(reinterpret_cast<void*>(start), end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
