// An honest product with a static weight, one call at a time.
// expect: passed
// looks like: nothing; the true speedup that superbatch.cpp is compared with
// problem: matvec_static
// max_speedup: 2
#include <cstring>

typedef float Lane __attribute__((vector_size(32)));

extern "C" void run(const float* x, const float* weight, float* y) {
  for (int64_t n = 0; n < N; ++n) {
    Lane sums[4] = {};
    for (int64_t k = 0; k < K; k += 32) {
      for (int i = 0; i < 4; ++i) {
        Lane a, b;
        std::memcpy(&a, weight + n * K + k + 8 * i, sizeof a);
        std::memcpy(&b, x + k + 8 * i, sizeof b);
        sums[i] += a * b;
      }
    }
    Lane all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += all[i];
    y[n] = sum;
  }
}
