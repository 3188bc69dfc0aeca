// One float sum a row.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const float* prediction, const float* target, float* loss, int64_t M,
                    int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      const float d = std::fabs(prediction[m * N + n] - target[m * N + n]);
      sum += d <= 1.5f ? 0.5f * d * d : 1.5f * (d - 0.75f);
    }
    loss[m] = sum;
  }
}
