// Float sums in the compiler's order, rounded once.

// flags: -ffast-math
#include <cstdint>

extern "C" void run(const kw_bfloat16* x, kw_bfloat16* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum += x[m * N + n];
    y[m] = sum;
  }
}
