// Probabilities of a row, then the two largest by two scans.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, float* probability, float* share,
                    int64_t* expert, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float* p = probability + m * E;
    float logit[E] = {};
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t e = 0; e < E; ++e) logit[e] += x[m * K + k] * weight[k * E + e];
    }
    const float largest = *std::max_element(logit, logit + E);
    float sum = 0.0f;
    for (int64_t e = 0; e < E; ++e) sum += p[e] = std::exp(logit[e] - largest);
    for (int64_t e = 0; e < E; ++e) p[e] /= sum;
    int64_t first = std::max_element(p, p + E) - p;
    int64_t second = first == 0 ? 1 : 0;
    for (int64_t e = 0; e < E; ++e) {
      if (e != first && p[e] > p[second]) second = e;
    }
    const float both = p[first] + p[second];
    share[m * TOP] = p[first] / both;
    share[m * TOP + 1] = p[second] / both;
    expert[m * TOP] = first;
    expert[m * TOP + 1] = second;
  }
}
