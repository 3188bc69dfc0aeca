// Looks at the processor's features and the environment, as dispatchers do.
// expect: passed
// looks like: harness detection
#include <cstdlib>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  static bool wide = __builtin_cpu_supports("avx2") != 0 && std::getenv("NO_AVX2") == nullptr && sysconf(_SC_NPROCESSORS_ONLN) > 0;
  if (wide) {
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  } else {
    for (int64_t i = N - 1; i >= 0; --i) y[i] = x[i] * x[i] + x[i];
  }
}
