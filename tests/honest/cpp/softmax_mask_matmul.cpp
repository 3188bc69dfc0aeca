// Exponentials are used as they come, the division is left to the end.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* score, const uint8_t* mask, const float* value, float* y,
                    int64_t B, int64_t M, int64_t N) {
  for (int64_t row = 0; row < B * M; ++row) {
    const float* s = score + row * N;
    const uint8_t* allowed = mask + row * N;
    const float* v = value + row / M * N * D;
    float largest = -INFINITY, sum = 0.0f, out[D] = {};
    for (int64_t n = 0; n < N; ++n) {
      if (allowed[n] != 0) largest = std::max(largest, s[n]);
    }
    for (int64_t n = 0; n < N; ++n) {
      if (allowed[n] == 0) continue;
      const float e = std::exp(s[n] - largest);
      sum += e;
      for (int64_t d = 0; d < D; ++d) out[d] += e * v[n * D + d];
    }
    for (int64_t d = 0; d < D; ++d) y[row * D + d] = out[d] / sum;
  }
}
