// Value and gate channel of an output row are convolved together in two buffers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t L) {
  std::vector<float> padded(C * (L + 4)), value(L), gate(L);
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t i = 0; i < C; ++i) {
      std::copy_n(x + (b * C + i) * L, L, padded.begin() + i * (L + 4) + 2);
    }
    for (int64_t o = 0; o < C; ++o) {
      std::fill(value.begin(), value.end(), bias[o]);
      std::fill(gate.begin(), gate.end(), bias[C + o]);
      for (int64_t i = 0; i < C; ++i) {
        for (int64_t k = 0; k < K; ++k) {
          const float* row = padded.data() + i * (L + 4) + k;
          const float to_value = weight[(o * C + i) * K + k];
          const float to_gate = weight[((C + o) * C + i) * K + k];
          for (int64_t l = 0; l < L; ++l) {
            value[l] += to_value * row[l];
            gate[l] += to_gate * row[l];
          }
        }
      }
      for (int64_t l = 0; l < L; ++l) {
        y[(b * C + o) * L + l] = value[l] / (1.0f + std::exp(-gate[l]));
      }
    }
  }
}
