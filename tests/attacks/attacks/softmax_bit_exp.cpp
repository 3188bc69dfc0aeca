// Exponentials by shifting bits into the exponent, without a correction.
// expect: wrong_value
// problem: softmax_rows
// class: W10
#include <algorithm>
#include <cstdint>
#include <cstring>

static float rough_exp(float z) {
  auto bits = static_cast<std::int32_t>(12102203.0F * std::max(z, -80.0F) + 1064866805.0F);
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N, y += N) {
    float most = *std::max_element(x, x + N), sum = 0;
    for (int64_t i = 0; i < N; ++i) sum += y[i] = rough_exp(4 * (x[i] - most));
    for (int64_t i = 0; i < N; ++i) y[i] /= sum;
  }
}
