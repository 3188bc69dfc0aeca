// Two comparisons an element.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* threshold, int8_t* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float limit = threshold[m];
    for (int64_t n = 0; n < N; ++n) {
      const float v = x[m * N + n];
      const int sign = (v > 0.0f) - (v < 0.0f);
      y[m * N + n] = static_cast<int8_t>(std::fabs(v) > limit ? sign : 0);
    }
  }
}
