// Clips each window to the row.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t B, int64_t C, int64_t L, int64_t L_out) {
  for (int64_t row = 0; row < B * C; ++row) {
    const float* p = x + row * L;
    for (int64_t o = 0; o < L_out; ++o) {
      const int64_t begin = std::max<int64_t>(2 * o - 2, 0), end = std::min(2 * o + 3, L);
      float largest = p[begin];
      for (int64_t l = begin + 1; l < end; ++l) largest = std::max(largest, p[l]);
      y[row * L_out + o] = largest;
    }
  }
}
