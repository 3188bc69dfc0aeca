// Online softmax: what is summed so far is scaled down whenever a larger score comes.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* q, const float* k, const float* v, const int64_t* length, float* y,
                    int64_t B, int64_t H, int64_t T) {
  for (int64_t head = 0; head < B * H; ++head) {
    const float* key = k + head * T * D;
    const float* value = v + head * T * D;
    float out[D] = {}, largest = -INFINITY, sum = 0.0f;
    for (int64_t t = 0; t < length[head / H]; ++t) {
      float score = 0.0f;
      for (int64_t d = 0; d < D; ++d) score += q[head * D + d] * key[t * D + d];
      score *= 0.125f;
      if (score > largest) {
        const float shrink = std::exp(largest - score);
        for (float& o : out) o *= shrink;
        sum *= shrink;
        largest = score;
      }
      const float weight = std::exp(score - largest);
      sum += weight;
      for (int64_t d = 0; d < D; ++d) out[d] += weight * value[t * D + d];
    }
    for (int64_t d = 0; d < D; ++d) y[head * D + d] = out[d] / sum;
  }
}
