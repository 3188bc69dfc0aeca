// A private workspace that is kept from call to call.
// expect: passed
// looks like: a result cache
#include <cstring>
#include <vector>

extern "C" void run(const float* x, float* y) {
  static std::vector<float> squares(N);
  for (int64_t i = 0; i < N; ++i) squares[i] = x[i] * x[i];
  for (int64_t i = 0; i < N; ++i) y[i] = squares[i] + x[i];
}
