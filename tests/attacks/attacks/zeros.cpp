// Zeros.
// expect: wrong_value
// class: W05
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = 0;
}
