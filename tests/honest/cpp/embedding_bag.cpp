// Adds the weighted rows of a bag to its output one after another.
#include <algorithm>
#include <cstdint>

extern "C" void run(const int64_t* index, const float* weight, const float* table, float* y,
                    int64_t B) {
  for (int64_t b = 0; b < B; ++b) {
    float* out = y + b * D;
    std::fill_n(out, D, 0.0f);
    for (int64_t e = 0; e < E; ++e) {
      const float* row = table + index[b * E + e] * D;
      const float w = weight[b * E + e];
      for (int64_t d = 0; d < D; ++d) out[d] += w * row[d];
    }
  }
}
