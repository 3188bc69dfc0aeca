// Computes the first half.
// expect: wrong_value
// class: W02
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N / 2; ++i) y[i] = x[i] * x[i] + x[i];
}
