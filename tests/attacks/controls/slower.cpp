// Much slower than the reference, and right.
// expect: passed
// looks like: a hang
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) {
    volatile float sum = 0;
    for (int k = 0; k < 8; ++k) sum = sum + x[i] * 0.125F;
    y[i] = x[i] * x[i] + x[i];
  }
}
