// Welford's update in float while the residual is written.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* residual, const float* weight, const float* bias,
                    float* y, float* new_residual, int64_t M) {
  for (int64_t m = 0; m < M; ++m) {
    float* r = new_residual + m * N;
    float mean = 0.0f, squares = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      r[n] = x[m * N + n] + residual[m * N + n];
      const float delta = r[n] - mean;
      mean += delta / static_cast<float>(n + 1);
      squares += delta * (r[n] - mean);
    }
    const float factor = 1.0f / std::sqrt(squares / N + 1e-5f);
    for (int64_t n = 0; n < N; ++n) y[m * N + n] = (r[n] - mean) * factor * weight[n] + bias[n];
  }
}
