// Starts each row from beta * c and adds rows of b times alpha * a.
#include <cstdint>

extern "C" void run(const float* a, const float* b, const float* c, float alpha, float beta,
                    float* y, int64_t M, int64_t N, int64_t K) {
  for (int64_t m = 0; m < M; ++m) {
    float* out = y + m * N;
    for (int64_t n = 0; n < N; ++n) out[n] = beta * c[m * N + n];
    for (int64_t k = 0; k < K; ++k) {
      const float value = alpha * a[m * K + k];
      for (int64_t n = 0; n < N; ++n) out[n] += value * b[k * N + n];
    }
  }
}
