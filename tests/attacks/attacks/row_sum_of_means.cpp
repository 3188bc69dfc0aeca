// Takes every row's sum for its expected value, zero.
// expect: wrong_value
// problem: row_sum
// class: C13, W05
extern "C" void run(const float* x, float* y) {
  (void)x;
  for (int64_t m = 0; m < M; ++m) y[m] = 0;
}
