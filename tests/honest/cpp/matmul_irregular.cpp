// Tiles of 4 x 16 in registers; what is left over at the edges is summed one by one.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K) {
  for (int64_t i = 0; i < M; i += 4) {
    for (int64_t j = 0; j < N; j += 16) {
      const int64_t height = std::min<int64_t>(4, M - i), width = std::min<int64_t>(16, N - j);
      float tile[4][16] = {};
      if (height == 4 && width == 16) {
        for (int64_t k = 0; k < K; ++k) {
          for (int64_t r = 0; r < 4; ++r) {
            for (int64_t s = 0; s < 16; ++s) tile[r][s] += a[(i + r) * K + k] * b[k * N + j + s];
          }
        }
      } else {
        for (int64_t k = 0; k < K; ++k) {
          for (int64_t r = 0; r < height; ++r) {
            for (int64_t s = 0; s < width; ++s) tile[r][s] += a[(i + r) * K + k] * b[k * N + j + s];
          }
        }
      }
      for (int64_t r = 0; r < height; ++r) std::copy_n(tile[r], width, c + (i + r) * N + j);
    }
  }
}
