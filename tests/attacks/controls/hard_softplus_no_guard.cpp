// Guards against overflow at every size.
// expect: passed
// looks like: softplus that passes over a check
// problem: softplus
#include <cmath>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) y[i] = x[i] > 20 ? x[i] : std::log1p(std::exp(x[i]));
}
