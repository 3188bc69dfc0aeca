// max(z, 0) - z t + log1p(exp(-|z|)) summed in double.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* logits, const float* target, float* loss, int64_t M, int64_t N) {
  double sum = 0.0;
  for (int64_t i = 0; i < M * N; ++i) {
    const float z = logits[i];
    sum += std::max(z, 0.0f) - z * target[i] + std::log1p(std::exp(-std::fabs(z)));
  }
  *loss = static_cast<float>(sum / static_cast<double>(M * N));
}
