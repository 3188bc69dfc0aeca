// An ordered list of K entries a row; an element below the last one is passed over.
#include <cstdint>

extern "C" void run(const float* x, float* values, int64_t* indices, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float* best = values + m * K;
    int64_t* place = indices + m * K;
    int64_t filled = 0;
    for (int64_t n = 0; n < N; ++n) {
      if (filled == K && !(row[n] > best[K - 1])) continue;
      int64_t slot = filled < K ? filled++ : K - 1;
      for (; slot > 0 && row[n] > best[slot - 1]; --slot) {
        best[slot] = best[slot - 1];
        place[slot] = place[slot - 1];
      }
      best[slot] = row[n];
      place[slot] = n;
    }
  }
}
