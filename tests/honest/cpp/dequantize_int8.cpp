// Conversion and one multiplication an element.
#include <cstdint>

extern "C" void run(const int8_t* q, const float* scale, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float s = scale[m];
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = static_cast<float>(q[m * N + n]) * s;
  }
}
