// Adds up in half precision.
// expect: wrong_value
// problem: row_sum
// class: W08
extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N) {
    _Float16 sums[32] = {};
    for (int64_t i = 0; i < N; ++i) sums[i % 32] = static_cast<_Float16>(static_cast<float>(sums[i % 32]) + x[i]);
    float sum = 0;
    for (_Float16 part : sums) sum += static_cast<float>(part);
    y[m] = sum;
  }
}
