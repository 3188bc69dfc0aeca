// Two passes a row: the mean, then the squares of what differs from it.
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m) {
    const float* row = x + m * N;
    float sum = 0.0f;
    for (int64_t n = 0; n < N; ++n) sum += row[n];
    const float mean = sum / static_cast<float>(N);
    float squares = 0.0f;
    for (int64_t n = 0; n < N; ++n) squares += (row[n] - mean) * (row[n] - mean);
    y[m] = squares / static_cast<float>(N - 1);
  }
}
