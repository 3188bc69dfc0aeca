// tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2) with e = exp(x); x itself where e is huge.

// flags: -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M * N; ++i) {
    float v = x[i];
    float e = std::exp(std::min(v, 20.0f));
    float top = e * (e + 2.0f);
    y[i] = v > 20.0f ? v : v * (top / (top + 2.0f));
  }
}
