// Keeps the smallest so far; an equal element moves the index on.
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t* index, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float smallest = x[m * N];
    int64_t place = 0;
    for (int64_t n = 0; n < N; ++n) {
      if (x[m * N + n] <= smallest) {
        smallest = x[m * N + n];
        place = n;
      }
      y[m * N + n] = smallest;
      index[m * N + n] = place;
    }
  }
}
