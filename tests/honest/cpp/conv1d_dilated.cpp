// The inputs of an output position are gathered, then multiplied with all filters.
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, int64_t B,
                    int64_t L, int64_t L_out) {
  constexpr int64_t kTerms = C_in * K;
  std::vector<float> filters(kTerms * C_out);  // [C_in K, C_out]
  for (int64_t o = 0; o < C_out; ++o) {
    for (int64_t t = 0; t < kTerms; ++t) filters[t * C_out + o] = weight[o * kTerms + t];
  }
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t l = 0; l < L_out; ++l) {
      float sum[C_out];
      std::copy_n(bias, C_out, sum);
      for (int64_t t = 0; t < kTerms; ++t) {
        const float value = x[(b * C_in + t / K) * L + 2 * l + 4 * (t % K)];
        for (int64_t o = 0; o < C_out; ++o) sum[o] += value * filters[t * C_out + o];
      }
      for (int64_t o = 0; o < C_out; ++o) y[(b * C_out + o) * L_out + l] = sum[o];
    }
  }
}
