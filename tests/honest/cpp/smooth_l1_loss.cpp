// A float sum for each row, added up in float.

// flags: -ffast-math
#include <cmath>
#include <cstdint>

extern "C" void run(const float* prediction, const float* target, float* loss, int64_t M,
                    int64_t N) {
  float total = 0.0f;
  for (int64_t m = 0; m < M; ++m) {
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      const float d = std::fabs(prediction[m * N + n] - target[m * N + n]);
      sum += d < 0.5f ? d * d : d - 0.25f;
    }
    total += sum;
  }
  *loss = total / static_cast<float>(M * N);
}
