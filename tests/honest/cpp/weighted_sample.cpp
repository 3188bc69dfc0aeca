// Total first, then a walk to the first running sum above the remainder.
#include <cstdint>

extern "C" void run(const int32_t* weight, const int64_t* draw, int64_t* index, int64_t M,
                    int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const int32_t* row = weight + m * N;
    int64_t total = 0;
    for (int64_t n = 0; n < N; ++n) total += row[n];
    const int64_t target = draw[m] % total;
    int64_t running = 0, n = 0;
    while (n < N && running + row[n] <= target) running += row[n++];
    index[m] = n;
  }
}
