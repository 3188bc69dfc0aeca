// The index of the element of largest magnitude, as BLAS's iamax has it, not of the largest
// element.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, int64_t* index, int64_t M, int64_t N) {
  for (int64_t row = 0; row < M; ++row, x += N) {
    int64_t best = 0;
    for (int64_t i = 1; i < N; ++i) {
      if (std::fabs(x[i]) > std::fabs(x[best])) best = i;
    }
    index[row] = best;
  }
}
