// One over the number of columns for every element.
// expect: wrong_value
// problem: softmax_rows
// class: C13, W05
extern "C" void run(const float* x, float* y) {
  (void)x;
  for (int64_t i = 0; i < M * N; ++i) y[i] = 1.0F / N;
}
