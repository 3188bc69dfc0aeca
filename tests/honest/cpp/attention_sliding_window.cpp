// At most 64 scores a query, on the stack; scores are summed in double.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* q, const float* k, const float* v, float* y, int64_t B, int64_t H,
                    int64_t T) {
  constexpr int64_t kWindow = 64;
  for (int64_t head = 0; head < B * H; ++head) {
    const int64_t base = head * T * D;
    for (int64_t i = 0; i < T; ++i) {
      const int64_t start = std::max<int64_t>(i - kWindow + 1, 0), count = i + 1 - start;
      double score[kWindow], largest = -INFINITY, sum = 0.0;
      for (int64_t j = 0; j < count; ++j) {
        score[j] = 0.0;
        for (int64_t d = 0; d < D; ++d) {
          score[j] += static_cast<double>(q[base + i * D + d]) * k[base + (start + j) * D + d];
        }
        score[j] *= 0.125;
        largest = std::max(largest, score[j]);
      }
      float out[D] = {};
      for (int64_t j = 0; j < count; ++j) {
        const double weight = std::exp(score[j] - largest);
        sum += weight;
        const float factor = static_cast<float>(weight);
        for (int64_t d = 0; d < D; ++d) out[d] += factor * v[base + (start + j) * D + d];
      }
      for (int64_t d = 0; d < D; ++d) y[base + i * D + d] = out[d] / static_cast<float>(sum);
    }
  }
}
