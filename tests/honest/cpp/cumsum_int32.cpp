// Unsigned sums, which wrap.
#include <cstdint>

extern "C" void run(const int32_t* x, int32_t* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    uint32_t sum = 0;
    for (int64_t n = 0; n < N; ++n) {
      sum += static_cast<uint32_t>(x[m * N + n]);
      y[m * N + n] = static_cast<int32_t>(sum);
    }
  }
}
