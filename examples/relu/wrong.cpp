// ReLU that works on whole blocks of 16 and forgets the tail: right whenever N is a multiple of 16.
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t N) {
  for (int64_t i = 0; i + 16 <= N; i += 16) {
    for (int64_t lane = 0; lane < 16; ++lane) {
      y[i + lane] = x[i + lane] < 0.0f ? 0.0f : x[i + lane];
    }
  }
}
