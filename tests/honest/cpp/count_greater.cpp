// Counts comparisons in 32 bits within a row.
#include <cstdint>

extern "C" void run(const float* x, const float* threshold, int64_t* count, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    const float limit = threshold[m];
    int32_t hits = 0;
    for (int64_t n = 0; n < N; ++n) hits += row[n] > limit;
    count[m] = hits;
  }
}
