// Dot products in eight lanes of the rows that are needed; zeros above the diagonal.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* c, int64_t M, int64_t K) {
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      const float* p = x + i * K;
      const float* q = x + j * K;
      float lane[8] = {};
      int64_t k = 0;
      for (; k + 8 <= K; k += 8) {
        for (int64_t l = 0; l < 8; ++l) lane[l] += p[k + l] * q[k + l];
      }
      float sum = (lane[0] + lane[4]) + (lane[1] + lane[5]);
      sum += (lane[2] + lane[6]) + (lane[3] + lane[7]);
      for (; k < K; ++k) sum += p[k] * q[k];
      c[i * M + j] = sum;
    }
    std::fill_n(c + i * M + i + 1, M - i - 1, 0.0f);
  }
}
