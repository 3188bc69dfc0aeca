// Sums every other element and doubles it.
// expect: wrong_value
// problem: row_sum
// class: W07
extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N) {
    float sum = 0;
    for (int64_t i = 0; i < N; i += 2) sum += x[i];
    y[m] = 2 * sum;
  }
}
