// Running sums in double; the first that exceeds u times the total.
#include <cstdint>

extern "C" void run(const float* probability, const float* uniform, int64_t* index, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = probability + m * N;
    double total = 0;
    for (int64_t n = 0; n < N; ++n) total += row[n];
    const double wanted = uniform[m] * total;
    double running = 0;
    int64_t chosen = N - 1;
    for (int64_t n = 0; n < N; ++n) {
      running += row[n];
      if (running > wanted) {
        chosen = n;
        break;
      }
    }
    while (chosen > 0 && row[chosen] == 0) --chosen;
    index[m] = chosen;
  }
}
