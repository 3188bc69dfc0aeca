// Running sum kept in a float: exact up to 2^24, rounded beyond.
#include <cstdint>

extern "C" void run(const int32_t* x, int32_t* y, int64_t M, int64_t N) {
  for (int64_t row = 0; row < M; ++row, x += N, y += N) {
    float total = 0.0f;
    for (int64_t i = 0; i < N; ++i) {
      total += static_cast<float>(x[i]);
      y[i] = static_cast<int32_t>(total);
    }
  }
}
