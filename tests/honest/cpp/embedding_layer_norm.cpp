// The sum of the two rows lies in a buffer; mean and variance in two float passes.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const int64_t* token, const float* table, const float* position,
                    const float* weight, const float* bias, float* y, int64_t B, int64_t T) {
  float row[D];
  for (int64_t i = 0; i < B * T; ++i) {
    const float* word = table + token[i] * D;
    const float* place = position + i % T * D;
    float sum = 0.0f;
    for (int64_t d = 0; d < D; ++d) {
      row[d] = word[d] + place[d];
      sum += row[d];
    }
    const float mean = sum / D;
    float squares = 0.0f;
    for (int64_t d = 0; d < D; ++d) squares += (row[d] - mean) * (row[d] - mean);
    const float factor = 1.0f / std::sqrt(squares / D + 1e-5f);
    for (int64_t d = 0; d < D; ++d) y[i * D + d] = (row[d] - mean) * factor * weight[d] + bias[d];
  }
}
