// Leaves out the last four of 4096 terms.
// expect: wrong_value
// problem: row_sum
// class: W07, W21
extern "C" void run(const float* x, float* y) {
  for (int64_t m = 0; m < M; ++m, x += N) {
    double sum = 0;
    for (int64_t i = 0; i < N - 4; ++i) sum += x[i];
    y[m] = static_cast<float>(sum);
  }
}
