// A float sum for each row, added up in double.

// flags: -ffast-math
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* score, const uint8_t* label, float* loss, int64_t M, int64_t N) {
  double total = 0.0;
  for (int64_t m = 0; m < M; ++m) {
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      const float s = score[m * N + n];
      sum += std::max(1.0f - (label[m * N + n] != 0 ? s : -s), 0.0f);
    }
    total += sum;
  }
  *loss = static_cast<float>(total / static_cast<double>(M * N));
}
