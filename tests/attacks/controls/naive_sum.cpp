// Adds 4096 terms one after the other.
// expect: passed
// problem: row_sum
// looks like: lower precision
extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N) {
    volatile float sum = 0;
    for (int64_t i = 0; i < N; ++i) sum = sum + x[i];
    y[m] = sum;
  }
}
