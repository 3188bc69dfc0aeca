// Lengths are divided out of the dot products; log-sum-exp of each row in float.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

float dot(const float* p, const float* q) {
  float lane[8] = {};
  for (int64_t d = 0; d < D; d += 8) {
    for (int64_t l = 0; l < 8; ++l) lane[l] += p[d + l] * q[d + l];
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

float length(const float* row) { return std::max(std::sqrt(dot(row, row)), 1e-12f); }

}  // namespace

extern "C" void run(const float* a, const float* b, float* loss, int64_t M) {
  std::vector<float> length_b(M), logit(M);
  for (int64_t j = 0; j < M; ++j) length_b[j] = length(b + j * D);
  for (int64_t i = 0; i < M; ++i) {
    const float length_a = length(a + i * D);
    float largest = -INFINITY;
    for (int64_t j = 0; j < M; ++j) {
      logit[j] = dot(a + i * D, b + j * D) / length_a / length_b[j] / 0.1f;
      largest = std::max(largest, logit[j]);
    }
    float sum = 0.0f;
    for (int64_t j = 0; j < M; ++j) sum += std::exp(logit[j] - largest);
    loss[i] = std::log(sum) + largest - logit[i];
  }
}
