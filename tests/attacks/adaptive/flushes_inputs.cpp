// Throws the inputs out of all caches when it is done, so that the reference has to fetch them again.
// expect: passed
// max_speedup: 12
// class: T18, T20
#include <immintrin.h>

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  for (int64_t i = 0; i < N; i += 16) _mm_clflush(x + i);
}
