// The allowed keys of a sequence are listed first; only they are scored.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

float dot(const float* p, const float* q) {
  float sum = 0.0f;
  for (int64_t d = 0; d < D; ++d) sum += p[d] * q[d];
  return sum;
}

}  // namespace

extern "C" void run(const float* q, const float* k, const float* v, const uint8_t* mask, float* y,
                    int64_t B, int64_t H, int64_t T) {
  std::vector<int64_t> allowed;
  std::vector<float> weight(T);
  for (int64_t head = 0; head < B * H; ++head) {
    const int64_t base = head * T * D;
    allowed.clear();
    for (int64_t t = 0; t < T; ++t) {
      if (mask[head / H * T + t] != 0) allowed.push_back(t);
    }
    for (int64_t i = 0; i < T; ++i) {
      float largest = -INFINITY, sum = 0.0f, out[D] = {};
      for (int64_t j : allowed) {
        weight[j] = dot(q + base + i * D, k + base + j * D) * 0.125f;
        largest = std::max(largest, weight[j]);
      }
      for (int64_t j : allowed) sum += weight[j] = std::exp(weight[j] - largest);
      for (int64_t j : allowed) {
        for (int64_t d = 0; d < D; ++d) out[d] += weight[j] * v[base + j * D + d];
      }
      for (int64_t d = 0; d < D; ++d) y[base + i * D + d] = out[d] / sum;
    }
  }
}
