// Online softmax over blocks of 16 keys; four heads of queries read one of keys.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

float dot(const float* p, const float* q) {
  float sum = 0.0f;
  for (int64_t d = 0; d < D; ++d) sum += p[d] * q[d];
  return sum;
}

}  // namespace

extern "C" void run(const float* q, const float* k, const float* v, float* y, int64_t B,
                    int64_t T) {
  constexpr int64_t kBlock = 16;
  for (int64_t row = 0; row < B * H_q * T; ++row) {
    const int64_t i = row % T, head = row / T % H_q, batch = row / T / H_q;
    const int64_t shared = (batch * H_kv + head / (H_q / H_kv)) * T * D;
    float out[D] = {}, largest = -INFINITY, sum = 0.0f;
    for (int64_t j0 = 0; j0 <= i; j0 += kBlock) {
      const int64_t count = std::min(kBlock, i + 1 - j0);
      float weight[kBlock], block_largest = largest;
      for (int64_t j = 0; j < count; ++j) {
        weight[j] = dot(q + row * D, k + shared + (j0 + j) * D) * 0.125f;
        block_largest = std::max(block_largest, weight[j]);
      }
      const float shrink = std::exp(largest - block_largest);
      largest = block_largest;
      sum *= shrink;
      for (float& o : out) o *= shrink;
      for (int64_t j = 0; j < count; ++j) {
        const float e = std::exp(weight[j] - largest);
        sum += e;
        for (int64_t d = 0; d < D; ++d) out[d] += e * v[shared + (j0 + j) * D + d];
      }
    }
    for (int64_t d = 0; d < D; ++d) y[row * D + d] = out[d] / sum;
  }
}
