// Sums in 32-bit integers, then the two scales one after the other.
#include <cstdint>

extern "C" void run(const int8_t* a, const float* scale_a, const int8_t* b, const float* scale_b,
                    float* y, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    int32_t sum[N] = {};
    for (int64_t k = 0; k < K; ++k) {
      const int32_t value = a[m * K + k];
      for (int64_t n = 0; n < N; ++n) sum[n] += value * b[k * N + n];
    }
    for (int64_t n = 0; n < N; ++n) {
      y[m * N + n] = static_cast<float>(sum[n]) * scale_a[m] * scale_b[n];
    }
  }
}
