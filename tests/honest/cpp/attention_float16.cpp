// Widened to float, scores and weighted sum in float, rounded once.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void run(const _Float16* q, const _Float16* k, const _Float16* v, _Float16* y, int64_t B,
                    int64_t H, int64_t T) {
  std::vector<float> weight(T), key(T * D), value(T * D);
  for (int64_t head = 0; head < B * H; ++head) {
    const int64_t base = head * T * D;
    std::copy_n(k + base, T * D, key.begin());
    std::copy_n(v + base, T * D, value.begin());
    for (int64_t i = 0; i < T; ++i) {
      float largest = -INFINITY, sum = 0.0f, query[D], out[D] = {};
      std::copy_n(q + base + i * D, D, query);
      for (int64_t j = 0; j < T; ++j) {
        float score = 0.0f;
        for (int64_t d = 0; d < D; ++d) score += query[d] * key[j * D + d];
        weight[j] = score * 0.125f;
        largest = std::max(largest, weight[j]);
      }
      for (int64_t j = 0; j < T; ++j) {
        weight[j] = std::exp(weight[j] - largest);
        sum += weight[j];
      }
      for (int64_t j = 0; j < T; ++j) {
        for (int64_t d = 0; d < D; ++d) out[d] += weight[j] * value[j * D + d];
      }
      for (int64_t d = 0; d < D; ++d) y[base + i * D + d] = static_cast<_Float16>(out[d] / sum);
    }
  }
}
