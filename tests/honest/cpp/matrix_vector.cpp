// Dot product of each row in 16 lanes.
#include <cstdint>

extern "C" void run(const float* a, const float* x, float* y, int64_t M, int64_t K) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = a + m * K;
    float lane[16] = {};
    int64_t k = 0;
    for (; k + 16 <= K; k += 16) {
      for (int64_t l = 0; l < 16; ++l) lane[l] += row[k + l] * x[k + l];
    }
    float sum = 0.0f;
    for (float part : lane) sum += part;
    for (; k < K; ++k) sum += row[k] * x[k];
    y[m] = sum;
  }
}
