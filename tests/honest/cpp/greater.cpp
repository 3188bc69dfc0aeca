// One comparison an element.
#include <cstdint>

extern "C" void run(const float* x, const float* y, uint8_t* mask, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) mask[i] = x[i] > y[i];
}
