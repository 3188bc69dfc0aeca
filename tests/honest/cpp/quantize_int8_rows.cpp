// Largest magnitude of a row, its exponent by frexp, then rounding to even.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, int8_t* q, float* scale, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float largest = 0.0f;
    for (int64_t n = 0; n < N; ++n) largest = std::max(largest, std::fabs(row[n]));
    int exponent = 0;
    std::frexp(largest, &exponent);
    scale[m] = std::ldexp(1.0f, exponent - 7);
    const float inverse = std::ldexp(1.0f, 7 - exponent);
    for (int64_t n = 0; n < N; ++n) {
      q[m * N + n] = static_cast<int8_t>(std::min(std::nearbyint(row[n] * inverse), 127.0f));
    }
  }
}
