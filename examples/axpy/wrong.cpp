// alpha * (x + y): the factor reaches the second term as well.
#include <cstdint>

extern "C" void run(float alpha, const float* x, const float* y, float* out, int64_t N) {
  for (int64_t i = 0; i < N; ++i) out[i] = alpha * (x[i] + y[i]);
}
