// The largest value eight times.
// expect: wrong_value
// problem: top_k
// class: W30
#include <algorithm>

extern "C" void run(const float* x, float* values, int64_t* indices) {
  for (int64_t m = 0; m < M; ++m, x += N) {
    auto best = std::max_element(x, x + N) - x;
    for (int64_t i = 0; i < k; ++i) {
      values[m * k + i] = x[best];
      indices[m * k + i] = best;
    }
  }
}
