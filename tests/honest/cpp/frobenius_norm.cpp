// Sum of squares in double over all elements.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  double sum = 0.0;
  for (int64_t i = 0; i < M * N; ++i) sum += static_cast<double>(x[i]) * x[i];
  *y = static_cast<float>(std::sqrt(sum));
}
