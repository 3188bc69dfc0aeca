// Sums are cut into blocks of 32 terms, each summed in a row buffer of its own.
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void run(const float* a, const float* b, float* c, int64_t B, int64_t M, int64_t N,
                    int64_t K) {
  constexpr int64_t kBlock = 32;
  std::vector<float> part(N);
  for (int64_t row = 0; row < B * M; ++row) {
    const float* left = a + row * K;
    const float* right = b + row / M * K * N;
    float* out = c + row * N;
    std::fill_n(out, N, 0.0f);
    for (int64_t k0 = 0; k0 < K; k0 += kBlock) {
      std::fill(part.begin(), part.end(), 0.0f);
      for (int64_t k = k0; k < std::min(k0 + kBlock, K); ++k) {
        for (int64_t n = 0; n < N; ++n) part[n] += left[k] * right[k * N + n];
      }
      for (int64_t n = 0; n < N; ++n) out[n] += part[n];
    }
  }
}
