// Softmax as the textbook has it: one element at a time in double precision, each exponential
// computed twice.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  for (int64_t row = 0; row < M; ++row, x += N, y += N) {
    double largest = x[0];
    for (int64_t i = 1; i < N; ++i) largest = std::fmax(largest, x[i]);
    double sum = 0.0;
    for (int64_t i = 0; i < N; ++i) sum += std::exp(x[i] - largest);
    for (int64_t i = 0; i < N; ++i) y[i] = static_cast<float>(std::exp(x[i] - largest) / sum);
  }
}
