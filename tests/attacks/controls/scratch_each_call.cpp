// Allocates its scratch memory in every call.
// expect: passed|noisy
// looks like: noise by page faults
#include <vector>

extern "C" void run(const float* x, float* y) {
  std::vector<float> squares(4096);
  for (int64_t first = 0; first < N; first += 4096) {
    for (int64_t i = 0; i < 4096; ++i) squares[i] = x[first + i] * x[first + i];
    for (int64_t i = 0; i < 4096; ++i) y[first + i] = squares[i] + x[first + i];
  }
}
