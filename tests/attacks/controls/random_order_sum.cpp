// Starts each sum at a random place: other last bits in every call.
// expect: passed
// problem: row_sum
// looks like: a race
#include <cstdlib>

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N) {
    int64_t start = rand() % N;
    float sum = 0;
    for (int64_t i = start; i < N; ++i) sum += x[i];
    for (int64_t i = 0; i < start; ++i) sum += x[i];
    y[m] = sum;
  }
}
