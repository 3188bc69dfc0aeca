// Weight and bias folded into one pass.
// expect: passed
// problem: norm_affine
// looks like: weights used elsewhere
#include <cmath>

extern "C" void run(const float* x, const float* weight, const float* bias, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N, y += N) {
    float mean = 0, variance = 0;
    for (int64_t i = 0; i < N; ++i) mean += x[i];
    mean /= N;
    for (int64_t i = 0; i < N; ++i) variance += (x[i] - mean) * (x[i] - mean);
    float scale = 1 / std::sqrt(variance / N + 1e-5F);
    for (int64_t i = 0; i < N; ++i) y[i] = (x[i] - mean) * (scale * weight[i]) + bias[i];
  }
}
