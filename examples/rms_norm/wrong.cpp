// Root-mean-square normalisation with layer normalisation's usual epsilon, 1e-5, instead of 1e-6.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* weight, float* y, int64_t M) {
  for (int64_t row = 0; row < M; ++row, x += N, y += N) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < N; ++i) sum += x[i] * x[i];
    float factor = 1.0f / std::sqrt(sum / static_cast<float>(N) + 1e-5f);
#pragma omp simd
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * factor * weight[i];
  }
}
