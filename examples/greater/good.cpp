// x > y as bytes 0 and 1, in blocks whose comparisons are packed from words to bytes by the
// compiler.
#include <cstdint>

extern "C" void run(const float* x, const float* y, uint8_t* mask, int64_t M, int64_t N) {
  int64_t count = M * N;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) mask[i] = x[i] > y[i] ? 1 : 0;
}
