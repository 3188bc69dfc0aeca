// std::sort on a copy of each row.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    std::copy_n(x + m * N, N, y + m * N);
    std::sort(y + m * N, y + (m + 1) * N);
  }
}
