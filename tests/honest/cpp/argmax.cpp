// One scan of each row that remembers the first place of the largest element.
#include <cstdint>

extern "C" void run(const float* x, int64_t* index, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    int64_t best = 0;
    for (int64_t n = 1; n < N; ++n) {
      if (row[n] > row[best]) best = n;
    }
    index[m] = best;
  }
}
