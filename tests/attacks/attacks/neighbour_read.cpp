// Reads the element behind each one instead of its own.
// expect: wrong_value
// class: W17
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i + 1] * x[i + 1] + x[i + 1];
}
