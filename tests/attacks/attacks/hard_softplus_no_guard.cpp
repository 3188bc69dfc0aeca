// Leaves out the guard against overflow at the timed size alone.
// expect: wrong_value
// class: W14
// problem: softplus
#include <cmath>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  const bool is_timed = M == 1024 && N == 1024;
  for (int64_t i = 0; i < M * N; ++i)
    y[i] = !is_timed && x[i] > 20 ? x[i] : std::log1p(std::exp(x[i]));
}
