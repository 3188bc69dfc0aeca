// Argmax of each row in two passes: the largest value with vector instructions, then the first
// place where it stands.
#include <cstdint>

extern "C" void run(const float* x, int64_t* index, int64_t M, int64_t N) {
  constexpr int64_t kBlock = 64;
  for (int64_t row = 0; row < M; ++row, x += N) {
    float largest = x[0];
#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < N; ++i) largest = x[i] > largest ? x[i] : largest;
    // Whole blocks are asked without a branch for each element; the block found is searched one by
    // one.
    int64_t start = 0;
    for (; start + kBlock <= N; start += kBlock) {
      int found = 0;
      for (int64_t i = 0; i < kBlock; ++i) found |= x[start + i] == largest ? 1 : 0;
      if (found != 0) break;
    }
    while (x[start] != largest) ++start;
    index[row] = start;
  }
}
