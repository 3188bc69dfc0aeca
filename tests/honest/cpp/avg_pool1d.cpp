// A padded copy of each row, then five terms for every position.
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void run(const float* x, float* y, int64_t B, int64_t C, int64_t L) {
  std::vector<float> padded(L + 4, 0.0f);
  for (int64_t row = 0; row < B * C; ++row) {
    std::copy_n(x + row * L, L, padded.begin() + 2);
    const float* p = padded.data();
    for (int64_t l = 0; l < L; ++l) {
      y[row * L + l] = (p[l] + p[l + 1] + p[l + 2] + p[l + 3] + p[l + 4]) * 0.2f;
    }
  }
}
