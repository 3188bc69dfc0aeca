// Online: maximum and sum of the scaled row in one pass, the probabilities in a second.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, const float* temperature, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float largest = -INFINITY, sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) {
      const float v = row[n] / temperature[m];
      if (v > largest) {
        sum *= std::exp(largest - v);
        largest = v;
      }
      sum += std::exp(v - largest);
    }
    for (int64_t n = 0; n < N; ++n) {
      y[m * N + n] = std::exp(row[n] / temperature[m] - largest) / sum;
    }
  }
}
