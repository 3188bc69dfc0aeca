// Leaves a row at the first element that is not less.
#include <cstdint>

extern "C" void run(const float* x, const float* threshold, uint8_t* held, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    int64_t n = 0;
    while (n < N && row[n] < threshold[m]) ++n;
    held[m] = n == N ? 1 : 0;
  }
}
