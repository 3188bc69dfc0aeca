// Leaves out the last sixteen elements.
// expect: wrong_value
// class: W21
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N - 16; ++i) y[i] = x[i] * x[i] + x[i];
}
